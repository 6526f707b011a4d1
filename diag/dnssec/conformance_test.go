package dnssec

import (
	"context"
	"encoding/base32"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/miekg/dns"
	"github.com/stretchr/testify/require"
)

// conformance returns where the vectors of DNSSEC lie, or skips the test.
func conformance(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("CONFORMANCE_DIR")
	if dir == "" {
		base, err := os.Getwd()
		require.NoError(t, err)
		for ; base != "/"; base = filepath.Dir(base) {
			if _, err := os.Stat(filepath.Join(base, "go.mod")); err == nil {
				break
			}
		}
		dir = filepath.Join(base, "..", "shared", "conformance")
	}
	dir = filepath.Join(dir, "dns", "dnssec")
	if _, err := os.Stat(dir); err != nil {
		t.Skipf("there are no vectors at %s; set CONFORMANCE_DIR", dir)
	}
	return dir
}

func readJSON(t *testing.T, path string, into any) {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, into))
}

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

// An entry is a reply by script, and when it is given.
type entry struct {
	Match                         []string
	Qname, Qtype, Rcode           string
	Flags                         []string
	Answer, Authority, Additional []string
}

// TestConformanceScenarios validates what scripted servers answer, as a resolver would.
func TestConformanceScenarios(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(conformance(t), "val_*.json"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	passed := 0
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".json"), func(t *testing.T) {
			var s scenario
			readJSON(t, file, &s)
			if s.play(t) {
				passed++
			}
		})
	}
	t.Logf("dns/dnssec scenarios: %d/%d", passed, len(files))
}

// play asks the questions of a scenario one after the other and compares the verdicts.
func (s *scenario) play(t *testing.T) bool {
	anchors, err := ParseAnchors(strings.Join(s.Anchors, "\n"))
	require.NoError(t, err)
	var asked *entry
	r := &replay{scenario: s}
	now := s.clock(t)
	verdicts := slices.Clone(s.Verdicts)
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
			v := Validator{
				Env:     &diag.Env{Resolver: r, Clock: func() time.Time { return now }},
				Anchors: anchors, Exempt: s.Options["domain-insecure"],
			}
			result, err := v.Validate(t.Context(), asked.Qname, dns.StringToType[asked.Qtype])
			require.NoError(t, err)

			require.NotEmpty(t, verdicts)
			if got := verdictOf(result, asked); got != verdicts[0] {
				t.Errorf("%s %s is %s (%v); want %s", asked.Qname, asked.Qtype, got, result.Failure, verdicts[0])
			}
			verdicts = verdicts[1:]
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

// verdictOf words a result as the resolver of the scenarios does. It tells of security only those who
// ask for it.
func verdictOf(r *Result, asked *entry) string {
	switch {
	case r.Status == diag.Bogus:
		return "bogus"
	case r.Status == diag.Secure && slices.Contains(asked.Flags, "DO"):
		return "secure"
	default:
		return "not-secure"
	}
}

// A replay is a recursive resolver that does not validate, in front of scripted servers. It forgets
// nothing.
type replay struct {
	*scenario
	step int

	mu    sync.Mutex
	known map[dns.Question]*entry
}

func (r *replay) Exchange(_ context.Context, q *dns.Msg) (*dns.Msg, error) {
	question := q.Question[0]
	reply := new(dns.Msg).SetReply(q)
	reply.CheckingDisabled = true
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.known[question]
	if e == nil {
		e = r.find(question.Name, question.Qtype)
	}
	if r.known == nil {
		r.known = map[dns.Question]*entry{}
	}
	r.known[question] = e
	if e == nil {
		reply.Rcode = dns.RcodeServerFailure
		return reply, nil
	}
	reply.Rcode = dns.StringToRcode[e.Rcode]
	reply.Answer, reply.Ns, reply.Extra = rrs(e.Answer), rrs(e.Authority), rrs(e.Additional)
	return reply, nil
}

func rrs(lines []string) []dns.RR {
	var list []dns.RR
	for _, line := range lines {
		rr, err := dns.NewRR(line)
		if err != nil {
			panic(line + ": " + err.Error())
		}
		list = append(list, rr)
	}
	return list
}

// find returns the reply to a question: that of the servers of the deepest zone known, which for DS
// records lies above the name. A delegation tells of its DS records by itself.
func (r *replay) find(qname string, qtype uint16) *entry {
	zone, addrs := r.servers(qname, qtype)
	for range 8 {
		e := r.ask(addrs, qname, qtype)
		if qtype == dns.TypeDS && (e == nil || e.cut() == dns.CanonicalName(qname)) {
			return r.delegation(qname)
		}
		if e == nil || !e.refers(zone, qname) {
			return e
		}
		zone, addrs = r.glue(e)
	}
	return nil
}

// ask returns the reply of the first server that has one.
func (r *replay) ask(addrs []string, qname string, qtype uint16) *entry {
	for _, addr := range addrs {
		for _, server := range r.Servers {
			if !slices.Contains(server.Addrs, addr) || r.step < server.Range[0] || r.step > server.Range[1] {
				continue
			}
			for i := range server.Entries {
				if server.Entries[i].matches(qname, qtype) {
					return &server.Entries[i]
				}
			}
		}
	}
	return nil
}

func (e *entry) matches(qname string, qtype uint16) bool {
	for _, what := range e.Match {
		if what == "qtype" && dns.StringToType[e.Qtype] != qtype ||
			what == "qname" && dns.CanonicalName(e.Qname) != dns.CanonicalName(qname) ||
			what == "subdomain" && !dns.IsSubDomain(e.Qname, qname) {
			return false
		}
	}
	return true
}

// cut returns the zone that a reply refers to, or nothing.
func (e *entry) cut() string {
	if len(e.Answer) > 0 || e.Rcode != "NOERROR" {
		return ""
	}
	zone := ""
	for _, rr := range rrs(e.Authority) {
		switch rr.Header().Rrtype {
		case dns.TypeSOA:
			return ""
		case dns.TypeNS:
			zone = dns.CanonicalName(rr.Header().Name)
		}
	}
	return zone
}

func (e *entry) refers(from, qname string) bool {
	cut := e.cut()
	return cut != "" && cut != from && dns.IsSubDomain(from, cut) && dns.IsSubDomain(cut, qname)
}

// servers returns the deepest zone to which any reply refers, and its servers.
func (r *replay) servers(qname string, qtype uint16) (string, []string) {
	zone := ""
	var addrs []string
	take := func(cut string, found []string) {
		if dns.IsSubDomain(cut, qname) && len(found) > 0 && (qtype != dns.TypeDS || cut != dns.CanonicalName(qname)) &&
			(zone == "" || dns.CountLabel(cut) > dns.CountLabel(zone)) {
			zone, addrs = cut, found
		}
	}
	for i, addr := range slices.Concat(r.Options["stub-addr"], r.Options["forward-addr"]) {
		addr, _, _ = strings.Cut(addr, " ")
		take(dns.CanonicalName(r.Options["name"][min(i, len(r.Options["name"])-1)]), []string{addr})
	}
	for _, server := range r.Servers {
		for i := range server.Entries {
			if cut := server.Entries[i].cut(); cut != "" {
				take(r.glue(&server.Entries[i]))
			}
		}
	}
	return zone, addrs
}

// glue returns the addresses of the servers that a reply refers to.
func (r *replay) glue(referral *entry) (string, []string) {
	var addrs []string
	for _, rr := range rrs(referral.Authority) {
		ns, ok := rr.(*dns.NS)
		if !ok {
			continue
		}
		for _, server := range r.Servers {
			for _, e := range server.Entries {
				for _, rr := range rrs(slices.Concat(e.Additional, e.Answer)) {
					if a, ok := rr.(*dns.A); ok && dns.CanonicalName(a.Hdr.Name) == dns.CanonicalName(ns.Ns) {
						addrs = append(addrs, a.A.String())
					}
				}
			}
		}
	}
	return referral.cut(), addrs
}

// delegation answers the question for DS records from what the zone above says in other replies: the
// referral to the zone, or a record about its name.
func (r *replay) delegation(qname string) *entry {
	for _, server := range r.Servers {
		for _, e := range server.Entries {
			if !e.delegates(dns.CanonicalName(qname)) {
				continue
			}
			answer := entry{Rcode: "NOERROR"}
			for i, rr := range rrs(e.Authority) {
				covered := rr.Header().Rrtype
				if sig, ok := rr.(*dns.RRSIG); ok {
					covered = sig.TypeCovered
				}
				switch covered {
				case dns.TypeDS:
					answer.Answer = append(answer.Answer, e.Authority[i])
				case dns.TypeNSEC, dns.TypeNSEC3:
					answer.Authority = append(answer.Authority, e.Authority[i])
				}
			}
			return &answer
		}
	}
	return nil
}

// delegates reports whether a reply tells of the delegation to a zone.
func (e *entry) delegates(zone string) bool {
	if e.cut() == zone {
		return true
	}
	for _, rr := range rrs(e.Authority) {
		switch r := rr.(type) {
		case *dns.NSEC:
			if dns.CanonicalName(r.Hdr.Name) == zone && types(r.TypeBitMap).delegates() {
				return true
			}
		case *dns.NSEC3:
			if r.Match(zone) && types(r.TypeBitMap).delegates() {
				return true
			}
		}
	}
	return false
}

// TestConformanceSignatures checks the examples of RFCs.
func TestConformanceSignatures(t *testing.T) {
	var vectors struct {
		Cases []struct {
			Ref               string
			RRset             []string
			RRSIG, DNSKEY, DS string
			Now               time.Time
			KeyTag            uint16 `json:"key_tag"`
			Verdict           string
		}
	}
	readJSON(t, filepath.Join(conformance(t), "rfc-signatures.json"), &vectors)
	require.NotEmpty(t, vectors.Cases)
	passed := 0
	for _, c := range vectors.Cases {
		records := rrs(append(slices.Clone(c.RRset), c.RRSIG, c.DNSKEY))
		msg := newMessage(&dns.Msg{Answer: records}, nil)
		k := newKey(records[len(records)-1].(*dns.DNSKEY))
		owner, _ := parseName(records[0].Header().Name)
		zone, _ := parseName(k.rr.Hdr.Name)
		v := &validation{now: c.Now, memo: new(memo)}
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
	t.Logf("dns/dnssec signatures: %d/%d", passed, len(vectors.Cases))
}

// TestConformanceHashes checks the hashes of RFC 5155.
func TestConformanceHashes(t *testing.T) {
	var vectors struct {
		Iterations int
		Salt       string
		Cases      []struct{ Name, Hash string }
	}
	readJSON(t, filepath.Join(conformance(t), "rfc5155-hashes.json"), &vectors)
	require.NotEmpty(t, vectors.Cases)
	salt, err := hex.DecodeString(vectors.Salt)
	require.NoError(t, err)
	passed := 0
	for _, c := range vectors.Cases {
		n, ok := parseName(c.Name)
		require.True(t, ok)
		hash := hashName(n, string(salt), vectors.Iterations)
		if got := strings.ToLower(base32.HexEncoding.EncodeToString([]byte(hash))); got != c.Hash {
			t.Errorf("%s: %s; want %s", c.Name, got, c.Hash)
			continue
		}
		passed++
	}
	t.Logf("dns/dnssec hashes: %d/%d", passed, len(vectors.Cases))
}
