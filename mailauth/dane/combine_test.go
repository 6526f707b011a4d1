package dane

import (
	"strings"

	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/miekg/dns"
)

// kinds are mail servers that differ in one respect each; "mx" is a placeholder for the host.
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
