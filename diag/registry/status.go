package registry

import (
	"slices"
	"strings"
	"sync"

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
var statuses = sync.OnceValue(func() (list []Status) {
	for line := range strings.SplitSeq(strings.TrimSpace(embeddedText("status.txt")), "\n") {
		columns := strings.Split(line, "\t")
		list = append(list, Status{Code: columns[1], Meaning: columns[2], Impact: Impact(columns[0])})
	}
	return list
})

// explain returns what is known of a status as a registry puts it: "client transfer prohibited" in
// RDAP (RFC 8056), "CLIENT_TRANSFER_PROHIBITED" or "Transfer Prohibited by Registrar" in WHOIS.
func explain(text string) Status {
	key := letters(text)
	for who, by := range map[string]string{"client": "byregistrar", "server": "byregistry"} {
		if what, ok := strings.CutSuffix(key, by); ok {
			key = who + what
		}
	}
	if i := slices.IndexFunc(statuses(), func(s Status) bool { return letters(s.Code) == key }); i >= 0 {
		return statuses()[i]
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
