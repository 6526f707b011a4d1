package resolver

import (
	"time"

	"github.com/miekg/dns"
)

// failureTTL is how long SERVFAIL is kept. RFC 9520 section 3.2 asks for one second at least and five
// minutes at most; two seconds spare a broken server the other checks of one diagnostic, and are
// over when the caller has fixed something and asks again.
const failureTTL = 2 * time.Second

// lifetime returns how long a reply may be kept, or 0. The end of its shortest-lived record is the end of it all.
func (c *Cache) lifetime(m *dns.Msg, qtype uint16) time.Duration {
	if m.Truncated {
		return 0 // what is missing is not known to be missing
	}
	return max(c.MinTTL, c.allowed(m, qtype))
}

// allowed is how long a reply lets itself be kept.
func (c *Cache) allowed(m *dns.Msg, qtype uint16) time.Duration {
	switch m.Rcode {
	case dns.RcodeServerFailure:
		return failureTTL
	case dns.RcodeSuccess, dns.RcodeNameError:
	default:
		return 0 // the server did not look at the question
	}
	ttl, found := smallestTTL(m)
	limit := c.MaxTTL
	if limit <= 0 {
		limit = defaultMaxTTL
	}
	if m.Rcode == dns.RcodeNameError || !answers(m, qtype) {
		negative, ok := negativeTTL(m)
		if !ok {
			return 0 // RFC 2308 section 5: without a SOA record, not to be kept
		}
		ttl, found = min(ttl, negative), true
		if limit = c.MaxNegativeTTL; limit <= 0 {
			limit = defaultMaxNegativeTTL
		}
	}
	if !found {
		return 0
	}
	return min(time.Duration(ttl)*time.Second, limit)
}

// answers reports whether there is a record of the type asked for.
func answers(m *dns.Msg, qtype uint16) bool {
	for _, rr := range m.Answer {
		if t := rr.Header().Rrtype; t == qtype || qtype == dns.TypeANY {
			return true
		}
	}
	return false
}

// negativeTTL is how long the absence of a name or of a type may be believed (RFC 2308 section 5).
func negativeTTL(m *dns.Msg) (uint32, bool) {
	for _, rr := range m.Ns {
		if soa, ok := rr.(*dns.SOA); ok {
			return min(validTTL(soa.Hdr.Ttl), validTTL(soa.Minttl)), true
		}
	}
	return 0, false
}

// maxUint31 is the largest time to live there is (RFC 2181 section 8).
const maxUint31 = 1<<31 - 1

func smallestTTL(m *dns.Msg) (ttl uint32, found bool) {
	ttl = maxUint31
	for rr := range timed(m) {
		ttl, found = min(ttl, validTTL(rr.Header().Ttl)), true
	}
	return ttl, found
}

// validTTL takes a time to live with the uppermost bit set for zero (RFC 2181 section 8).
func validTTL(ttl uint32) uint32 {
	if ttl > maxUint31 {
		return 0
	}
	return ttl
}

// lowerTTLs takes seconds off the times to live of a message.
func lowerTTLs(m *dns.Msg, seconds uint32) {
	if seconds == 0 {
		return
	}
	for rr := range timed(m) {
		h := rr.Header()
		h.Ttl = validTTL(h.Ttl)
		h.Ttl -= min(h.Ttl, seconds)
	}
}

// timed visits the records that have a time to live: all but OPT, which keeps something else there
// (RFC 6891 section 6.1.3).
func timed(m *dns.Msg) func(yield func(dns.RR) bool) {
	return func(yield func(dns.RR) bool) {
		for _, section := range [...][]dns.RR{m.Answer, m.Ns, m.Extra} {
			for _, rr := range section {
				if rr.Header().Rrtype != dns.TypeOPT && !yield(rr) {
					return
				}
			}
		}
	}
}
