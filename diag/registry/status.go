package registry

import (
	"slices"
	"strings"
)

// Impact says what a status means for the holder of a domain.
type Impact string

// The impacts.
const (
	Protective Impact = "protective" // it keeps others from changing something
	Neutral    Impact = "neutral"    // it is worth knowing
	Problem    Impact = "problem"    // it keeps the domain from working, or ends it
)

// Values lists the impacts.
func (Impact) Values() []string {
	return []string{string(Protective), string(Neutral), string(Problem)}
}

// A Status is a state of the registration.
type Status struct {
	Code    string `json:"code" doc:"code of EPP, else as the registry puts it" example:"clientTransferProhibited"`
	Meaning string `json:"meaning" doc:"what it means"`
	Impact  Impact `json:"impact" doc:"what it means for the holder"`
}

// statuses explains the statuses of EPP (RFC 5731 section 2.3, RFC 3915 section 3.1), the values of
// RDAP that have no counterpart there (RFC 9083 section 10.2.2), and words of single registries. A
// "client" is the registrar, the "server" the registry.
var statuses = []Status{
	{"ok", "Nothing is pending, and nothing is locked.", Neutral},
	{"active", "The registration is in force.", Neutral},
	{"inactive", "No name servers are set, so the domain does not resolve.", Problem},
	{"linked", "Other objects refer to it.", Neutral},
	{"associated", "Other objects refer to it.", Neutral},
	{"clientDeleteProhibited", "The registrar refuses to delete the domain.", Protective},
	{"clientTransferProhibited", "The registrar refuses to transfer the domain to another registrar.", Protective},
	{"clientUpdateProhibited", "The registrar refuses changes.", Protective},
	{"clientRenewProhibited", "The registrar refuses to renew the domain.", Neutral},
	{"clientHold", "The registrar has taken the domain out of the DNS.", Problem},
	{"serverDeleteProhibited", "The registry refuses to delete the domain.", Protective},
	{"serverTransferProhibited", "The registry refuses to transfer the domain to another registrar.", Protective},
	{"serverUpdateProhibited", "The registry refuses changes.", Protective},
	{"serverRenewProhibited", "The registry refuses to renew the domain.", Neutral},
	{"serverRecoverProhibited", "The registry refuses to give the domain to somebody who claims it.", Protective},
	{"serverHold", "The registry has taken the domain out of the DNS.", Problem},
	{"deleteProhibited", "It cannot be deleted.", Protective},
	{"transferProhibited", "It cannot be transferred.", Protective},
	{"updateProhibited", "It cannot be changed.", Protective},
	{"renewProhibited", "It cannot be renewed.", Neutral},
	{"pendingCreate", "The registration was asked for, and is not in force yet.", Neutral},
	{"pendingDelete", "The domain is about to be deleted, and cannot be restored any more.", Problem},
	{"pendingRenew", "A renewal is under way.", Neutral},
	{"pendingTransfer", "A transfer to another registrar is under way.", Problem},
	{"pendingUpdate", "A change is under way.", Neutral},
	{"pendingRestore", "The registrar wants the domain back after its deletion, and must still say why.", Problem},
	{"redemptionPeriod", "The domain was deleted. Its registrar can restore it for some 30 days.", Problem},
	{"addPeriod", "It was registered within the last days, and can still be given back.", Neutral},
	{"autoRenewPeriod", "It expired, and was renewed automatically. The registrar can still give it back.", Neutral},
	{"renewPeriod", "It was renewed within the last days.", Neutral},
	{"transferPeriod", "It was transferred within the last days.", Neutral},
	{"locked", "It cannot be changed.", Protective},
	{"validated", "The registry has checked the data.", Neutral},
	{"proxy", "The registration is held by a service in place of who uses the domain.", Neutral},
	{"private", "Some of the data are not public.", Neutral},
	{"removed", "Some of the data were left out.", Neutral},
	{"obscured", "Some of the data were altered to hide them.", Neutral},
	{"administrative", "The registry holds it for its own purposes.", Neutral},
	{"reserved", "It is set aside, and not to be registered.", Neutral},
	{"connect", "It is registered and in the DNS.", Neutral},
	{"connected", "It is registered and in the DNS.", Neutral},
	{"registered", "It is registered.", Neutral},
	{"delegated", "It is in the DNS.", Neutral},
	{"published", "It is in the DNS.", Neutral},
	{"verified", "The holder has proven who it is.", Neutral},
	{"unverified", "The holder has not proven who it is.", Neutral},
	{"taken", "It is registered.", Neutral},
	{"failed", "The name servers did not answer when the registry checked them.", Problem},
	{"not delegated", "It is not in the DNS.", Problem},
	{"on hold", "It was taken out of the DNS.", Problem},
	{"suspended", "It was taken out of the DNS.", Problem},
	{"quarantine", "It was deleted. Its former holder can restore it.", Problem},
	{"expired", "The registration has run out.", Problem},
	{"to be suspended", "It is going to be taken out of the DNS.", Problem},
}

// explain returns what is known of a status as a registry puts it: "client transfer prohibited" in
// RDAP (RFC 8056), "CLIENT_TRANSFER_PROHIBITED" or "Transfer Prohibited by Registrar" in WHOIS.
func explain(text string) Status {
	key := letters(text)
	for who, by := range map[string]string{"client": "byregistrar", "server": "byregistry"} {
		if what, ok := strings.CutSuffix(key, by); ok {
			key = who + what
		}
	}
	if i := slices.IndexFunc(statuses, func(s Status) bool { return letters(s.Code) == key }); i >= 0 {
		return statuses[i]
	}
	return Status{clip(text, 100), "A status of this registry only.", Neutral}
}

// letters returns the letters of a text in lower case.
func letters(s string) string {
	return strings.Map(func(r rune) rune {
		if 'a' <= r && r <= 'z' {
			return r
		}
		return -1
	}, strings.ToLower(s))
}

// explainAll explains each status once.
func explainAll(texts []string) []Status {
	list := []Status{}
	for _, text := range texts {
		s := explain(text)
		if s.Code != "" && !slices.ContainsFunc(list, func(have Status) bool { return have.Code == s.Code }) {
			list = append(list, s)
		}
	}
	return list
}
