package resolver

import "github.com/miekg/dns"

// lowerTTLs takes seconds off the times to live of a message.
func lowerTTLs(m *dns.Msg, seconds uint32) {
	if seconds == 0 {
		return
	}
	for _, section := range [][]dns.RR{m.Answer, m.Ns, m.Extra} {
		for _, rr := range section {
			if h := rr.Header(); h.Rrtype != dns.TypeOPT { // its TTL is something else, RFC 6891 section 6.1.3
				h.Ttl -= min(h.Ttl, seconds)
			}
		}
	}
}
