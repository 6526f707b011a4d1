package nameserver

import (
	"context"
	"fmt"
	"net/netip"
	"time"

	"github.com/miekg/dns"
)

const (
	// notifyWait is how long a secondary may take to answer, and how long the first wait after that is. Each is
	// twice the one before.
	notifyWait = 2 * time.Second
	// notifyTries is how often a secondary is told of a change, which takes four minutes (RFC 1996 section 3.6).
	// Afterwards it finds out by itself, at its next refresh.
	notifyTries = 6
	// settle is how long new parts are in the store before the records that name them are served, where there are
	// secondaries: this server knows of the change within [maxGap], and they fetch it within seconds. Without that wait
	// a resolver could get the new record here and ask a secondary for its parts, which does not know them yet.
	settle = maxGap + time.Minute
)

// inform tells a secondary of each change (NOTIFY, RFC 1996), until the context ends.
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
			if err = s.notify(ctx, to); err == nil || ctx.Err() != nil {
				break
			}
			if !pause(ctx, wait) {
				return
			}
			wait *= 2
		}
		if err != nil && ctx.Err() == nil {
			s.config.Log.Warn("a secondary name server was not told of a change", "secondary", to.String(), "error", err)
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

// notify tells a secondary of the present version, once. Any answer will do: it was heard.
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
		default: // it is to be told anyway
		}
	}
}

// lead is how long new parts are served before the records that name them. A secondary proves of a signed zone that
// there is nothing between two names, and resolvers take that for an answer about each name there (RFC 8198): the
// name of a part is absent for them until they have forgotten, though nobody has asked for it.
func (s *Server) lead() time.Duration {
	if s.signer != nil {
		return settle + negativeTTL
	}
	return settle
}
