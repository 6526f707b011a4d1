package dnssec

import (
	"encoding/base32"
	"encoding/hex"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/diag/dnsmsg"
	"github.com/miekg/dns"
	"github.com/stretchr/testify/require"
)

// A scenario is a script of servers, and of questions to a validating resolver in front of them.
type scenario struct {
	Now     string
	Anchors []string `json:"trust_anchors"`
	Options map[string][]string
	Servers []struct {
		Addrs   []string
		Range   [2]int
		Entries []entry
	}
	Steps []struct {
		Step  int
		Kind  string
		Args  []string
		Entry *entry
	}
	Verdicts []string
}

// An entry is a reply by script, and when it is given; or one that a validating resolver gives.
type entry struct {
	Match                         []string
	Qname, Qtype, Rcode           string
	Flags                         []string
	EDE                           []string
	Answer, Authority, Additional []string
}

// TestConformanceScenarios validates what scripted servers answer, as a resolver would.
func TestConformanceScenarios(t *testing.T) {
	passed, played := 0, 0
	for _, file := range diagtest.Suite(t, "dns/dnssec/*.json") {
		base := strings.TrimSuffix(filepath.Base(file), ".json")
		if base == "rfc-signatures" || base == "rfc5155-hashes" {
			continue // played by the tests below
		}
		played++
		t.Run(base, func(t *testing.T) {
			s := diagtest.Documents[scenario](t, []string{file})[0]
			if s.play(t) {
				passed++
			}
		})
	}
	require.Positive(t, passed)
	t.Logf("dns/dnssec scenarios: %d/%d", passed, played)
}

// An alias leads below a trust anchor, where the answer is not signed. That the zone above the anchor
// leaves unsigned delegations out of its proofs is no excuse (val_cnametocloser_nosig of unbound).
func TestConformanceCloserAnchor(t *testing.T) {
	s := diagtest.Documents[scenario](t, diagtest.Suite(t, "dns/dnssec/val_cnametocloser.json"))[0]
	for i := range s.Servers[0].Entries {
		if e := &s.Servers[0].Entries[i]; e.Qname == "www.a.b.example.com." {
			e.Authority = e.Authority[:1] // without the signature
			ds := *e
			ds.Qtype = "DS"
			s.Servers[0].Entries = append(s.Servers[0].Entries, ds)
		}
	}
	s.Verdicts = []string{"bogus"}
	s.Steps[1].Entry.Rcode, s.Steps[1].Entry.Answer = "SERVFAIL", nil
	require.True(t, s.play(t))
}

// play asks the questions of a scenario one after the other and compares the verdicts.
func (s *scenario) play(t *testing.T) bool {
	anchors, err := ParseAnchors(strings.Join(s.Anchors, "\n"))
	require.NoError(t, err)
	var asked *entry
	r := &replay{scenario: s}
	now := s.clock(t)
	verdicts := slices.Clone(s.Verdicts)
	require.NotEmpty(t, verdicts)
	for _, step := range s.Steps {
		switch step.Kind {
		case "QUERY":
			asked, r.step = step.Entry, step.Step
		case "TIME_PASSES":
			if len(step.Args) == 2 && step.Args[0] == "ELAPSE" {
				seconds, err := strconv.ParseFloat(step.Args[1], 64)
				require.NoError(t, err)
				now = now.Add(time.Duration(seconds * float64(time.Second)))
			}
		case "CHECK_ANSWER":
			require.NotNil(t, asked)
			v := Validator{
				Env:     &diag.Env{Resolver: r, Clock: func() time.Time { return now }},
				Anchors: anchors, Exempt: s.Options["domain-insecure"],
				Iterations: 150, // as Unbound, for which the scenarios are made
			}
			result, err := v.Validate(t.Context(), asked.Qname, dns.StringToType[asked.Qtype])
			require.NoError(t, err)

			require.NotEmpty(t, verdicts)
			checkVerdict(t, result, asked, verdicts[0])
			if verdicts[0] != "bogus" {
				checkReply(t, result, step.Entry)
			} else {
				checkReason(t, result, step.Entry)
			}
			verdicts = verdicts[1:]
		default:
			t.Fatalf("a step %s cannot be played", step.Kind)
		}
	}
	require.Empty(t, verdicts)
	return !t.Failed()
}

// clock returns the time of the scenario. Those that switch the comparison of times off are played when
// the last of their signatures has begun.
func (s *scenario) clock(t *testing.T) time.Time {
	if s.Now != "-1" {
		now, err := time.Parse(time.RFC3339, s.Now)
		require.NoError(t, err)
		return now
	}
	var last uint32
	for _, server := range s.Servers {
		for _, e := range server.Entries {
			for _, rr := range rrs(slices.Concat(e.Answer, e.Authority)) {
				if sig, ok := rr.(*dns.RRSIG); ok {
					last = max(last, sig.Inception)
				}
			}
		}
	}
	return time.Unix(int64(last), 0)
}

// checkVerdict compares a status with that of the resolver of the scenarios, exactly: "not-secure" is
// insecure. That resolver reports "secure" only to clients that request it, so without a request the status may be
// secure too.
func checkVerdict(t *testing.T, r *Result, asked *entry, verdict string) {
	t.Helper()
	want := map[string]diag.DNSSECStatus{"bogus": diag.Bogus, "secure": diag.Secure, "not-secure": diag.Insecure}[verdict]
	if verdict == "not-secure" && !slices.Contains(asked.Flags, "DO") && r.Status == diag.Secure {
		return
	}
	if verdict == "not-secure" && r.Status == diag.Indeterminate && r.Failure.Code == codeAnchorNone {
		return // where no trust anchor leads, RFC 4033 section 5 says indeterminate, and that resolver insecure
	}
	if r.Status != want {
		t.Errorf("%s %s is %s (%v); want %s", asked.Qname, asked.Qtype, r.Status, r.Failure, verdict)
	}
}

// checkReply compares the rcode and the records of an answer. To ANY that resolver leaves out the NSEC
// record, which is there.
func checkReply(t *testing.T, r *Result, want *entry) {
	t.Helper()
	if got := dnsmsg.RcodeName(r.Rcode); got != want.Rcode {
		t.Errorf("%s %s: %s; want %s", want.Qname, want.Qtype, got, want.Rcode)
	}
	plain := func(list []dns.RR) []string {
		return sortedTexts(slices.DeleteFunc(slices.Clone(list), func(rr dns.RR) bool {
			rrtype := rr.Header().Rrtype
			return rrtype == dns.TypeRRSIG || want.Qtype == "ANY" && rrtype == dns.TypeNSEC
		}))
	}
	if got, wanted := plain(r.Records), plain(rrs(want.Answer)); !slices.Equal(got, wanted) {
		t.Errorf("%s %s: %q; want %q", want.Qname, want.Qtype, got, wanted)
	}
}

// reasons are the extended errors of the resolver of the scenarios (RFC 8914 section 4); it uses 6 for all that it
// does not distinguish.
var reasons = map[string][]diag.Code{
	"7":  {codeSigExpired},
	"9":  {codeKeysMissing, codeKeysUnavailable, codeDSMismatch, codeSigKey, codeAnchorMismatch},
	"10": {codeSigMissing, codeDenialMissing},
}

func checkReason(t *testing.T, r *Result, want *entry) {
	t.Helper()
	for _, code := range want.EDE {
		if fits, ok := reasons[code]; ok && r.Failure != nil && !slices.Contains(fits, r.Failure.Code) {
			t.Errorf("%s %s: %s (%v); want extended error %s", want.Qname, want.Qtype, r.Failure.Code, r.Failure, code)
		}
	}
}

// TestConformanceSignatures checks the examples of RFCs.
func TestConformanceSignatures(t *testing.T) {
	type vector struct {
		Ref               string
		RRset             []string
		RRSIG, DNSKEY, DS string
		Now               time.Time
		KeyTag            uint16 `json:"key_tag"`
		Verdict           string
	}
	var cases []vector
	for _, file := range diagtest.Documents[struct{ Cases []vector }](t, diagtest.Vectors(t, "dns/dnssec/rfc-signatures.json")) {
		cases = append(cases, file.Cases...)
	}
	require.NotEmpty(t, cases)
	passed := 0
	for _, c := range cases {
		records := rrs(append(slices.Clone(c.RRset), c.RRSIG, c.DNSKEY))
		msg := newMessage(&dns.Msg{Answer: records}, nil)
		k := newKey(records[len(records)-1].(*dns.DNSKEY))
		owner, _ := parseName(records[0].Header().Name)
		zone, _ := parseName(k.rr.Hdr.Name)
		v := &engine{now: c.Now, memo: new(memo), limits: usual}
		_, f := v.verify(msg.answer[setKey{owner, records[0].Header().Rrtype}], zone, []*key{k}, nil, nil)
		verdict := "valid"
		if f != nil {
			verdict = "invalid"
		}
		fits := true
		if c.DS != "" {
			fits = digestFits(rrs([]string{c.DS})[0].(*dns.DS), k.rr, zone)
		}
		if verdict != c.Verdict || k.tag != c.KeyTag || !fits {
			t.Errorf("%s: %s (%v), tag %d, DS record fits: %t; want %s, %d", c.Ref, verdict, f, k.tag, fits, c.Verdict, c.KeyTag)
			continue
		}
		passed++
	}
	t.Logf("dns/dnssec signatures: %d/%d", passed, len(cases))
}

// TestConformanceHashes checks the hashes of RFC 5155.
func TestConformanceHashes(t *testing.T) {
	type parameters struct {
		Iterations int
		Salt       string
		Cases      []struct{ Name, Hash string }
	}
	passed, total := 0, 0
	for _, vectors := range diagtest.Documents[parameters](t, diagtest.Vectors(t, "dns/dnssec/rfc5155-hashes.json")) {
		salt, err := hex.DecodeString(vectors.Salt)
		require.NoError(t, err)
		for _, c := range vectors.Cases {
			total++
			n, ok := parseName(c.Name)
			require.True(t, ok)
			hash := hashName(n, string(salt), vectors.Iterations)
			if got := strings.ToLower(base32.HexEncoding.EncodeToString([]byte(hash))); got != c.Hash {
				t.Errorf("%s: %s; want %s", c.Name, got, c.Hash)
				continue
			}
			passed++
		}
	}
	require.NotZero(t, total)
	t.Logf("dns/dnssec hashes: %d/%d", passed, total)
}
