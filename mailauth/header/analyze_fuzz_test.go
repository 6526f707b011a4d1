package header

import (
	"context"
	"encoding/json"
	"testing"
	"unicode/utf8"

	"github.com/diagkit/diagkit/diag"
	"github.com/miekg/dns"
)

// silence answers every question with SERVFAIL, so a live analysis needs no world.
type silence struct{}

func (silence) Exchange(_ context.Context, q *dns.Msg) (*dns.Msg, error) {
	return new(dns.Msg).SetRcode(q, dns.RcodeServerFailure), nil
}

// The analysis of any message ends with a report that encodes as JSON, and draws no conclusion that needs the DNS
// without it.
func FuzzAnalyze(f *testing.F) {
	f.Add([]byte(direct+letter), true)
	f.Add([]byte(forwarded+letter), false)
	f.Add([]byte("Received: from [192.0.2.1] by\nARC-Seal: i=1;\nDKIM-Signature: d=a; s=b\nFrom: a@b, c@d\n\n"), true)
	f.Fuzz(func(t *testing.T, text []byte, live bool) {
		r, err := Analyze(t.Context(), &diag.Env{Resolver: silence{}}, AnalyzeRequest{MessageBase64: text, Live: &live})
		if (r == nil) == (err == nil) {
			t.Fatalf("both %+v and %v", r, err)
		}
		if err != nil {
			return
		}
		if r.Live.Performed != live || r.Conclusion.Authentic != NotDecided || r.Headline == "" {
			t.Errorf("%s: %+v", r.Headline, r.Conclusion)
		}
		for _, reason := range r.Conclusion.Reasons {
			if !utf8.ValidString(reason) {
				t.Errorf("%q", reason)
			}
		}
		if _, err := json.Marshal(r); err != nil {
			t.Error(err)
		}
	})
}
