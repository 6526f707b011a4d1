package dane

import (
	"fmt"
	"strings"
	"testing"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/miekg/dns"
	"github.com/stretchr/testify/require"
)

// kinds are mail servers, each with something else about it; "mx" stands for the host.
var kinds = map[string]struct {
	zone  string
	spoil func(*diagtest.World, string)
}{
	"protected":              {zone: "mx.example.com. A 192.0.2.1\n_25._tcp.mx.example.com. TLSA 3 1 1 {key}\n"},
	"without":                {zone: "mx.example.com. A 192.0.2.1\n"},
	"tlsa fails":             {zone: "mx.example.com. A 192.0.2.1\n", spoil: failing("_25._tcp.mx.example.com")},
	"mismatch":               {zone: "mx.example.com. A 192.0.2.1\n_25._tcp.mx.example.com. TLSA " + other},
	"unusable":               {zone: "mx.example.com. A 192.0.2.1\n_25._tcp.mx.example.com. TLSA 1 1 1 {key}\n"},
	"closed":                 {zone: "mx.example.com. A 192.0.2.9\n_25._tcp.mx.example.com. TLSA 3 1 1 {key}\n"},
	"no address":             {zone: "mx.example.com. TXT -\n"},
	"address fails":          {zone: "mx.example.com. A 192.0.2.1\n", spoil: failing("mx.example.com")},
	"unsigned protected":     {zone: "mx.example.net. A 192.0.2.1\n_25._tcp.mx.example.net. TLSA 3 1 1 {key}\n"},
	"unsigned without":       {zone: "mx.example.net. A 192.0.2.1\n"},
	"unsigned, tlsa fails":   {zone: "mx.example.net. A 192.0.2.1\n", spoil: failing("_25._tcp.mx.example.net")},
	"unsigned address fails": {zone: "mx.example.net. A 192.0.2.1\n", spoil: failing("mx.example.net")},
}

func failing(name string) func(*diagtest.World, string) {
	return func(w *diagtest.World, host string) {
		w.Break(strings.Replace(name, "mx", host, 1), dns.RcodeServerFailure)
	}
}

// Whatever two mail servers are like, a good verdict means that DANE protects both, and a finding or a domain that is
// not signed explains every server that is not protected.
func TestCombinations(t *testing.T) {
	for a := range kinds {
		for b := range kinds {
			for _, signed := range []string{"example.com.", "none"} {
				t.Run(fmt.Sprintf("%s and %s, %s", a, b, signed), func(t *testing.T) {
					r := combination(a, b, signed).lookup(t)
					require.Len(t, r.Hosts, 2)
					complete := r.Hosts[0].Status == Pass && r.Hosts[1].Status == Pass
					require.Equal(t, complete, r.Summary.Complete)
					require.Equal(t, complete, r.State == diag.Valid, "%s %v", r.State, diagtest.Codes(r.Verdict))
					require.NotEmpty(t, r.Findings[0].Advice)
					if r.State == diag.Unknown {
						require.True(t, r.Partial)
					}
				})
			}
		}
	}
}

// combination is a domain with a mail server of each of two kinds.
func combination(a, b, signed string) *setting {
	s := &setting{signed: signed, smtp: diagtest.SMTP{Host: "server.example.com"}}
	s.zone = "server.example.com. A 192.0.2.1\n"
	s.cert.Names = []string{"mxa.example.com", "mxb.example.com"}
	for host, kind := range map[string]string{"mxa": a, "mxb": b} {
		k := kinds[kind]
		text := strings.ReplaceAll(k.zone, "mx.", host+".")
		s.zone += text + "example.com. MX 10 " + strings.TrimPrefix(strings.Fields(text)[0], "_25._tcp.") + "\n"
		if spoil, before := k.spoil, s.spoil; spoil != nil {
			s.spoil = func(w *diagtest.World) {
				if before != nil {
					before(w)
				}
				spoil(w, host)
			}
		}
	}
	return s
}
