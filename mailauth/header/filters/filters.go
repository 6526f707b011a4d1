// Package filters reads what spam filters wrote into the header of a message: call [Read] with the message.
//
// Filters add fields of their own to messages that they pass or mark (RFC 5322 section 3.6.8). Each vendor has its
// own names, words and scales; a [Verdict] expresses them alike: who filtered, how the message was classified, with
// which score, and what the codes mean. Anyone can write such fields; whom to trust is not decided here.
package filters

import (
	"strings"
	"sync"

	"github.com/diagkit/diagkit/mailauth/message"
)

// MaxVerdicts bounds the verdicts that are read.
const MaxVerdicts = 100

var fields = sync.OnceValue(func() map[string]field {
	all := map[string]field{}
	for _, list := range [][]field{microsoftFields(), applianceFields(), providerFields()} {
		for _, f := range list {
			all[strings.ToLower(f.name)] = f
		}
	}
	return all
})

// Read reads the verdicts in a header, at most [MaxVerdicts].
func Read(m *message.Message) (list []Verdict) {
	for i := range m.Fields {
		name := m.Fields[i].Name
		known, ok := fields()[strings.ToLower(name)]
		if !ok && strings.HasSuffix(strings.ToLower(name), "mailscanner-spamcheck") { // the organization stands before it
			known, ok = field{name, "mailscanner", readMailScanner}, true
		}
		if ok && len(list) < MaxVerdicts {
			v := newVerdict(known.vendor, name)
			known.read(&v, m.Fields[i].Value())
			list = append(list, v)
		}
	}
	return list
}
