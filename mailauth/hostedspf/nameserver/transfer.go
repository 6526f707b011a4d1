package nameserver

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/diagkit/diagkit/mailauth/hostedspf"
	"github.com/miekg/dns"
)

const (
	// maxTransfers bounds the transfers at a time. Secondaries try again.
	maxTransfers = 4
	// transferMessage is the approximate size of one message of a transfer, in bytes.
	transferMessage = 16 << 10
)

func (s *snapshot) isTransfer(q *dns.Msg) bool {
	if len(q.Question) != 1 {
		return false
	}
	one := q.Question[0]
	return (one.Qtype == dns.TypeAXFR || one.Qtype == dns.TypeIXFR) && one.Qclass == dns.ClassINET &&
		fault(q) == dns.RcodeSuccess && dns.CanonicalName(one.Name) == s.apex
}

// mayTransfer reports whether a client may transfer the zone: one that has the key or, without a key, one with the
// address of a secondary.
func (s *Server) mayTransfer(from netip.Addr, signed bool) bool {
	if s.config.Key != nil {
		return signed
	}
	return slices.ContainsFunc(s.config.Secondaries, func(a netip.AddrPort) bool { return a.Addr().Unmap() == from })
}

// transfer sends the zone (RFC 5936), and returns the response code. The snapshot never changes, so a transfer holds
// one version.
func (s *Server) transfer(w dns.ResponseWriter, q *dns.Msg, signed bool) int {
	select {
	case s.transfers <- struct{}{}:
		defer func() { <-s.transfers }()
	default:
		m := reply(q)
		m.Rcode = dns.RcodeServerFailure
		s.write(w, m, signed)
		return m.Rcode
	}
	extra, _ := negotiate(q, false)
	current := s.current.Load()
	current.batches(current.isCurrent(q), func(batch []dns.RR) bool {
		m := reply(q)
		m.Authoritative, m.Answer, m.Extra = true, batch, optional(extra)
		ok := s.write(w, m, signed)
		w.TsigTimersOnly(true) // RFC 8945 section 5.3.1
		return ok
	})
	return dns.RcodeSuccess
}

// isCurrent reports whether a question is for the changes since the present version. Others are answered with the
// whole zone (RFC 1995 section 4).
func (s *snapshot) isCurrent(q *dns.Msg) bool {
	if q.Question[0].Qtype != dns.TypeIXFR || len(q.Ns) != 1 {
		return false
	}
	soa, ok := q.Ns[0].(*dns.SOA)
	return ok && soa.Serial == s.soa.Serial
}

// batches calls send with the records of the zone in parts that fit into messages, between two SOA records (RFC 5936
// section 2.2), until it returns false. If the client already has the version, only the SOA record is sent.
func (s *snapshot) batches(known bool, send func([]dns.RR) bool) {
	batch := []dns.RR{s.soa}
	if known {
		send(batch)
		return
	}
	size := dns.Len(s.soa)
	for rr := range s.all() {
		if size += dns.Len(rr); size > transferMessage {
			if !send(batch) {
				return
			}
			batch, size = nil, dns.Len(rr)
		}
		batch = append(batch, rr)
	}
	send(append(batch, s.soa))
}

// all yields the records of the zone but the SOA record. Those of a signed zone come with signatures and with a chain
// of NSEC records: secondaries cannot make any (RFC 4034 section 4).
func (s *snapshot) all() iter.Seq[dns.RR] {
	return func(yield func(dns.RR) bool) {
		names := slices.Collect(maps.Keys(s.nodes))
		if s.signer != nil {
			names = slices.DeleteFunc(names, func(name string) bool { return len(s.nodes[name]) == 0 })
			slices.SortFunc(names, canonically)
		}
		for i, name := range names {
			n := s.nodes[name]
			if s.signer != nil {
				nsec := s.nsec(name)
				nsec.NextDomain = names[(i+1)%len(names)]
				n = maps.Clone(n)
				n[dns.TypeNSEC] = []dns.RR{nsec}
			}
			for rrtype, rrs := range n {
				if s.signer != nil {
					rrs = s.signer.signed(rrs)
				}
				if rrtype == dns.TypeSOA {
					rrs = rrs[1:]
				}
				for _, rr := range rrs {
					if !yield(rr) {
						return
					}
				}
			}
		}
	}
}

// canonically compares names in lower case (RFC 4034 section 6.1).
func canonically(a, b string) int {
	x, y := dns.SplitDomainName(a), dns.SplitDomainName(b)
	slices.Reverse(x)
	slices.Reverse(y)
	return slices.Compare(x, y)
}

const (
	// notifyWait is how long a secondary may take to answer, and the first wait after that. Each wait is twice the
	// previous one.
	notifyWait = 2 * time.Second
	// notifyTries is how often a secondary is notified of a change, which takes four minutes (RFC 1996 section 3.6).
	// Afterwards it learns of the change at its next refresh.
	notifyTries = 6
	// settle is how long new parts are in the store before the records that name them are served, with secondaries:
	// this server reads the change within [maxGap], and they fetch it within seconds. Without that wait a resolver
	// could get the new record here and query its parts at a secondary that does not have them yet.
	settle = maxGap + time.Minute
)

// inform notifies a secondary of each change (NOTIFY, RFC 1996), until the context ends.
func (s *Server) inform(ctx context.Context, to netip.AddrPort, changed <-chan struct{}) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-changed:
		}
		var err error
		wait := s.config.notifyWait
		for range notifyTries {
			if err = s.contained(func() error { return s.notify(ctx, to) }); err == nil || ctx.Err() != nil {
				break
			}
			if !pause(ctx, wait) {
				return
			}
			wait *= 2
		}
		if err != nil && ctx.Err() == nil {
			s.config.Log.Warn("a secondary name server could not be notified of a change",
				"secondary", to.String(), "error", err)
		}
	}
}

// pause waits, and reports whether the context has not ended.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// notify notifies a secondary of the present version, once. Any answer confirms receipt.
func (s *Server) notify(ctx context.Context, to netip.AddrPort) error {
	current := s.current.Load()
	m := new(dns.Msg).SetNotify(current.apex)
	m.Answer = []dns.RR{current.soa} // a hint (RFC 1996 section 3.7)
	s.config.Key.sign(m)
	client := &dns.Client{Timeout: s.config.notifyWait, TsigSecret: s.config.Key.secrets()}
	answer, _, err := client.ExchangeContext(ctx, m, to.String())
	if err != nil {
		return fmt.Errorf("telling %s of a change: %w", to, err)
	}
	if answer.Rcode != dns.RcodeSuccess {
		s.config.Log.Warn("a secondary name server does not take notice of changes", "secondary", to.String(),
			"answer", dns.RcodeToString[answer.Rcode])
	}
	return nil
}

func (s *Server) announce() {
	for _, changed := range s.changed {
		select {
		case changed <- struct{}{}:
		default: // it must be notified anyway
		}
	}
}

// lead returns how long new parts are served before the records that name them. A secondary of a signed zone proves
// that no name exists between two others, and resolvers apply that to each name in between (RFC 8198): the name of a
// part is absent for them until the proof expires, even if it was never queried.
func (s *Server) lead() time.Duration {
	if s.signer != nil {
		return settle + negativeTTL
	}
	return settle
}

// MasterFile writes records as the lines of a zone file (RFC 1035 section 5.1), for publication on another name
// server. A TTL of 0 means [DefaultTTL].
func MasterFile(records []hostedspf.Record, ttl time.Duration) string {
	if ttl <= 0 {
		ttl = DefaultTTL
	}
	var b strings.Builder
	for _, r := range records {
		rr := &dns.TXT{Hdr: header(dns.Fqdn(r.Name), dns.TypeTXT, seconds(ttl)), Txt: split(r.Value)}
		fmt.Fprintln(&b, strings.ReplaceAll(rr.String(), "\t", " "))
	}
	return b.String()
}
