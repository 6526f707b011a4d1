package policy

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/diag/dnsmsg"
	"github.com/miekg/dns"
	"github.com/stretchr/testify/require"
)

// A walkVector is one message in a world of its own, and its result under RFC 9989.
type walkVector struct {
	Name   string
	Author string
	SPF    string                                `json:"spf_pass_domain"`
	DKIM   string                                `json:"dkim_pass_domain"`
	Zone   map[string]map[string]json.RawMessage // name to type to list of data, or to an rcode
	Expect struct {
		Queries      []string
		Org          string `json:"org_domain"`
		PolicyDomain string `json:"policy_domain"`
		Result       string
		Policy       string
		Applied      string
		SPFAligned   bool `json:"spf_aligned"`
		DKIMAligned  bool `json:"dkim_aligned"`
	}
}

// world opens the zone of a vector. Strings of TXT records are cut as they must be.
func (v *walkVector) world(t *testing.T) *diagtest.World {
	w := diagtest.NewWorld(t)
	var zone strings.Builder
	for owner, types := range v.Zone {
		for rrtype, value := range types {
			if rcode, ok := dns.StringToRcode[rrtype]; ok {
				w.Break(owner, rcode)
				continue
			}
			require.Contains(t, dns.StringToType, rrtype, "the vector has a record of an unknown type")
			var list []string
			require.NoError(t, json.Unmarshal(value, &list))
			for _, data := range list {
				if rrtype == "TXT" {
					data = quoted(dnsmsg.SplitTXT(data))
				}
				zone.WriteString(owner + ". " + rrtype + " " + data + "\n")
			}
		}
	}
	w.Zone(zone.String())
	return w
}

// quoted writes character-strings as in a zone file.
func quoted(list []string) string {
	return (&dns.TXT{Txt: list}).String()[len((&dns.TXT{}).Hdr.String()):]
}

// names returns the domain of a vector in a list, or nothing.
func names(s string) (list []diag.Name) {
	if s != "" {
		list = append(list, diag.MustName(s))
	}
	return list
}

func TestConformanceTreeWalk(t *testing.T) {
	vectors, passed := diagtest.Cases[walkVector](t, diagtest.Vectors(t, "mail/dmarc/rfc9989-treewalk.json")), 0
	for _, v := range vectors {
		t.Run(v.Name, func(t *testing.T) {
			m := Message{From: diag.MustName(v.Author), DKIM: names(v.DKIM)}
			if spf := names(v.SPF); spf != nil {
				m.SPF = spf[0]
			}
			e, err := Evaluate(t.Context(), v.world(t).Env(), m)
			require.NoError(t, err)
			require.Equal(t, v.Expect.Result == string(ResultTempError), e.Err != nil)
			require.Equal(t, v.Expect.Queries, e.Discovery.Walk.Queries())
			require.Equal(t, v.Expect.Org, e.Discovery.Tree.Organizational)
			require.Equal(t, v.Expect.PolicyDomain, e.Discovery.Tree.PolicyDomain())
			require.Equal(t, v.Expect.Result, string(e.Result))
			require.Equal(t, v.Expect.Policy, string(e.Policy))
			require.Equal(t, v.Expect.Applied, string(e.Applied))
			require.Equal(t, v.Expect.SPFAligned, e.aligned(SPF), "SPF")
			require.Equal(t, v.Expect.DKIMAligned, e.aligned(DKIM), "DKIM")
			passed++
		})
	}
	t.Logf("tree walk: %d/%d", passed, len(vectors))
}

func (e *Evaluation) aligned(m Mechanism) bool {
	for _, id := range e.Identifiers {
		if id.Mechanism == m && id.Aligned {
			return true
		}
	}
	return false
}
