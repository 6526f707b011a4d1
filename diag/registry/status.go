package registry

import (
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
)

// Impact says what a status means for the holder of a domain.
type Impact string

// The impacts.
const (
	protective Impact = "protective" // it keeps others from changing something
	neutral    Impact = "neutral"    // it is worth knowing
	problem    Impact = "problem"    // it keeps the domain from working, or ends it
)

// Values lists the impacts.
func (Impact) Values() []string { return diag.Values(protective, neutral, problem) }

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
	{"ok", "Nothing is pending, and nothing is locked.", neutral},
	{"active", "The registration is in force.", neutral},
	{"inactive", "No name servers are set, so the domain does not resolve.", problem},
	{"linked", "Other objects refer to it.", neutral},
	{"associated", "Other objects refer to it.", neutral},
	{"clientDeleteProhibited", "The registrar refuses to delete the domain.", protective},
	{"clientTransferProhibited", "The registrar refuses to transfer the domain to another registrar.", protective},
	{"clientUpdateProhibited", "The registrar refuses changes.", protective},
	{"clientRenewProhibited", "The registrar refuses to renew the domain.", neutral},
	{"clientHold", "The registrar has taken the domain out of the DNS.", problem},
	{"serverDeleteProhibited", "The registry refuses to delete the domain.", protective},
	{"serverTransferProhibited", "The registry refuses to transfer the domain to another registrar.", protective},
	{"serverUpdateProhibited", "The registry refuses changes.", protective},
	{"serverRenewProhibited", "The registry refuses to renew the domain.", neutral},
	{"serverRecoverProhibited", "The registry refuses to give the domain to somebody who claims it.", protective},
	{"serverHold", "The registry has taken the domain out of the DNS.", problem},
	{"deleteProhibited", "It cannot be deleted.", protective},
	{"transferProhibited", "It cannot be transferred.", protective},
	{"updateProhibited", "It cannot be changed.", protective},
	{"renewProhibited", "It cannot be renewed.", neutral},
	{"pendingCreate", "The registration was asked for, and is not in force yet.", neutral},
	{"pendingDelete", "The domain is about to be deleted, and cannot be restored any more.", problem},
	{"pendingRenew", "A renewal is under way.", neutral},
	{"pendingTransfer", "A transfer to another registrar is under way.", problem},
	{"pendingUpdate", "A change is under way.", neutral},
	{"pendingRestore", "The registrar wants the domain back after its deletion, and must still say why.", problem},
	{"redemptionPeriod", "The domain was deleted. Its registrar can restore it for some 30 days.", problem},
	{"addPeriod", "It was registered within the last days, and can still be given back.", neutral},
	{"autoRenewPeriod", "It expired, and was renewed automatically. The registrar can still give it back.", neutral},
	{"renewPeriod", "It was renewed within the last days.", neutral},
	{"transferPeriod", "It was transferred within the last days.", neutral},
	{"locked", "It cannot be changed.", protective},
	{"validated", "The registry has checked the data.", neutral},
	{"proxy", "The registration is held by a service in place of who uses the domain.", neutral},
	{"private", "Some of the data are not public.", neutral},
	{"removed", "Some of the data were left out.", neutral},
	{"obscured", "Some of the data were altered to hide them.", neutral},
	{"administrative", "The registry holds it for its own purposes.", neutral},
	{"reserved", "It is set aside, and not to be registered.", neutral},
	{"connect", "It is registered and in the DNS.", neutral},
	{"connected", "It is registered and in the DNS.", neutral},
	{"registered", "It is registered.", neutral},
	{"delegated", "It is in the DNS.", neutral},
	{"published", "It is in the DNS.", neutral},
	{"verified", "The holder has proven who it is.", neutral},
	{"unverified", "The holder has not proven who it is.", neutral},
	{"taken", "It is registered.", neutral},
	{"failed", "The name servers did not answer when the registry checked them.", problem},
	{"not delegated", "It is not in the DNS.", problem},
	{"on hold", "It was taken out of the DNS.", problem},
	{"suspended", "It was taken out of the DNS.", problem},
	{"quarantine", "It was deleted. Its former holder can restore it.", problem},
	{"expired", "The registration has run out.", problem},
	{"to be suspended", "It is going to be taken out of the DNS.", problem},
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
	return Status{clip(text, 100), "A status of this registry only.", neutral}
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
