package hostedspf

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/miekg/dns"
	"github.com/stretchr/testify/require"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/mailauth/spf/eval"
)

// A suite is one scenario of the OpenSPF test suite: a zone and mails that are checked in it.
type suite struct {
	Zone  map[string][][2]any // name to pairs of type and data
	Tests []struct{ HELO, Host, MailFrom string }
}

// world makes a world of the zone, or reports false if no name server could hold it.
func (s *suite) world(t *testing.T) (*diagtest.World, bool) {
	w, err := diagtest.New(diagtest.Config{})
	require.NoError(t, err)
	t.Cleanup(w.Close)
	for name, list := range s.Zone {
		for _, entry := range list {
			switch kind := entry[0].(string); kind {
			case "TIMEOUT", "SERVFAIL":
				w.Fault(owner(name), 0, diagtest.Fault{Rcode: dns.RcodeServerFailure})
			default:
				w.Zone(owner(name) + " " + kind + " " + rdata(kind, entry[1]))
			}
		}
	}
	return w, w.Err() == nil
}

// owner writes a name as master files do.
func owner(name string) string {
	var b strings.Builder
	for _, c := range []byte(strings.TrimSuffix(name, ".")) {
		if c <= ' ' || c > '~' || strings.IndexByte(`@;()"\$`, c) >= 0 {
			fmt.Fprintf(&b, `\%03d`, c)
			continue
		}
		b.WriteByte(c)
	}
	return b.String() + "."
}

func rdata(kind string, data any) string {
	switch v := data.(type) {
	case string:
		if kind == "A" || kind == "AAAA" {
			return v
		}
		return owner(v)
	case []any:
		if kind == "MX" {
			return fmt.Sprintf("%v %s", v[0], owner(v[1].(string)))
		}
		text := ""
		for _, s := range v {
			bytes := []byte{} // each character of the suite is one byte
			for _, c := range s.(string) {
				bytes = append(bytes, byte(c))
			}
			text += escaped(string(bytes))
		}
		return text
	}
	return ""
}

// source returns the only SPF record of a domain, if it is valid.
func source(t *testing.T, w *diagtest.World, d diag.Domain) (string, bool) {
	record, err := publishedRecord(t.Context(), w.Env(), d)
	return record, err == nil && checkSource(record) == nil
}

// TestConformanceFlat flattens every record of the suites from which mail is checked there. What is flattened
// must say the same as the original for each mail and each client of the suite, and for others at random.
func TestConformanceFlat(t *testing.T) {
	for _, path := range diagtest.Suite(t, "mail/spf/*.json") {
		file := strings.TrimSuffix(filepath.Base(path), ".json")
		t.Run(file, func(t *testing.T) {
			suites := diagtest.Cases[suite](t, []string{path})
			tally := &tally{T: t, random: rand.New(rand.NewPCG(1, 2))}
			for _, s := range suites {
				tally.suite(s)
			}
			t.Logf("%s: %d/%d results alike, of %d records; %d records are not flattened, %d zones are none",
				file, tally.alike, tally.results, tally.flat, tally.refused, tally.unreal)
			require.Positive(t, tally.alike)
		})
	}
}

// A tally counts the outcomes of suites.
type tally struct {
	*testing.T
	random                                *rand.Rand
	results, alike, flat, refused, unreal int
}

func (t *tally) suite(s suite) {
	w, ok := s.world(t.T)
	if !ok {
		t.unreal++
		return
	}
	done := []string{}
	for _, c := range s.Tests {
		_, from, ok := strings.Cut(c.MailFrom, "@")
		if !ok || from == "" {
			from = c.HELO
		}
		d, err := diag.ParseDomain(from)
		if err != nil || checkDomain(d) != nil || slices.Contains(done, d.String()) {
			continue
		}
		done = append(done, d.String())
		if record, ok := source(t.T, w, d); ok {
			t.record(s, w, d, record)
		}
	}
}

// record flattens the record of a domain, and compares results.
func (t *tally) record(s suite, w *diagtest.World, d diag.Domain, record string) {
	host := fmt.Sprintf("flat%d.example.net", t.flat)
	report, err := Flatten(t.Context(), w.Env(), FlattenRequest{d, record, diag.MustName(host), false, false})
	require.NoError(t, err)
	if report.Published == nil {
		t.refused++
		return
	}
	t.flat++
	for _, r := range report.Published.Records {
		w.Zone(r.Name + ". TXT" + quoted(r.Value))
	}
	require.NoError(t, w.Err())
	for _, c := range s.Tests {
		near := netip.MustParseAddr(c.Host).Unmap()
		for _, ip := range []netip.Addr{near, near.Next(), near.Prev(), t.anyone()} {
			sender := cmp.Or(c.MailFrom, "postmaster@"+c.HELO)
			local, _, _ := strings.Cut(sender, "@")
			req := eval.Request{
				IP: ip, Sender: local + "@" + d.String(), HELO: c.HELO, Domain: d.String(),
				Lookups: eval.MaxTerms, Voids: eval.MaxTerms,
			}
			want, err := eval.Check(t.Context(), w.Env(), req)
			require.NoError(t, err)
			req.Domain = host
			got, err := eval.Check(t.Context(), w.Env(), req)
			require.NoError(t, err)
			t.results++
			if want.Outcome != got.Outcome {
				t.Errorf("%s %q as %q: %s is %s, not %s", d, record, report.Published.FlattenedRecord,
					ip, got.Outcome, want.Outcome)
				continue
			}
			t.alike++
		}
	}
}

func (t *tally) anyone() netip.Addr {
	n := t.random.Uint32()
	return netip.AddrFrom4([4]byte{byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)})
}
