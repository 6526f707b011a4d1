//go:build !race

package httpapi

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"net/http"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/diag/rule"
	"github.com/diagkit/diagkit/examples/demo/internet"
	"github.com/diagkit/diagkit/mailauth/hostedspf"
	"github.com/miekg/dns"
	"github.com/stretchr/testify/require"
)

// A drill checks all operations over many worlds against the requirements of CONTRACT 1.7 and 1.8 for every verdict:
// the effect of silence (TestDrillSilence), the suggested values (TestDrillSuggestions), the report of our own
// failures (TestDrillOutage), and the agreement with other verdicts (TestDrillAgreement).

// A drillCase is an operation with a request in a world.
type drillCase struct {
	name    string
	world   scenarioWorld
	other   func(testing.TB) *diagtest.World // makes a generated world; nil for a scenario
	ep      Endpoint
	request []byte
	message []byte             // asks mail/header-analyze about a message of the world; nil if it has none
	profile *hostedspf.Profile // that the operation is about, not resolved yet; nil if it is about none
}

// build makes the world of the case.
func (c *drillCase) build(t testing.TB) *diagtest.World {
	if c.other != nil {
		return c.other(t)
	}
	return c.world.build(t)
}

// subject returns the domain that the case is about; empty if it has none.
func (c *drillCase) subject() string {
	if c.profile != nil {
		return c.profile.Domain.String()
	}
	return subjectOf(c.request)
}

// asking returns the case with another value of a field.
func (c drillCase) asking(field, value string) drillCase {
	var body map[string]any
	json.Unmarshal(c.request, &body)
	body[field] = value
	c.request, _ = json.Marshal(body)
	return c
}

func fieldOf(request []byte, name string) string {
	var body map[string]any
	json.Unmarshal(request, &body) // a request that is not an object has no field
	text, _ := body[name].(string)
	return text
}

func endpointNamed(name string) Endpoint {
	return endpoints[slices.IndexFunc(endpoints, func(ep Endpoint) bool { return ep.Name() == name })]
}

// A drillRun is one case with its world, inside a bubble.
type drillRun struct {
	c     drillCase
	t     *testing.T
	world *diagtest.World
	start time.Time
	hosts hostedProfiles
	parts map[string]bool // what parts of a whole tell, see partReported
}

// A drillReply is the outcome of a request.
type drillReply struct {
	status    int
	body      []byte
	all       any
	whole     bool                   // of an operation that joins others
	State     string                 `json:"state"`
	Score     *int                   `json:"score"`
	Band      string                 `json:"score_band"`
	Headline  string                 `json:"verdict_headline"`
	Sub       string                 `json:"verdict_sub"`
	Partial   bool                   `json:"partial"`
	Live      struct{ Partial bool } `json:"live"`
	Findings  []diag.Finding         `json:"findings"`
	Passed    []diag.Check           `json:"passed_checks"`
	Advice    []diag.Recommendation  `json:"recommendations"`
	Breakdown diag.Breakdown         `json:"score_breakdown"`
}

// forEach plays cases, several concurrently, and serializes the recording of what they find.
func forEach(t *testing.T, cases []drillCase, play func(t *testing.T, c drillCase, found *sync.Mutex)) {
	var found sync.Mutex
	t.Run("cases", func(t *testing.T) {
		for _, c := range cases {
			t.Run(c.name, func(t *testing.T) {
				t.Parallel()
				play(t, c, &found)
			})
		}
	})
}

// some picks one of every n cases, always the same.
func some(cases []drillCase, n uint64) []drillCase {
	return slices.DeleteFunc(slices.Clone(cases), func(c drillCase) bool { return !diagtest.Sampled(c.name, n) })
}

// play opens the bubble of a case.
func (c drillCase) play(t *testing.T, f func(*drillRun)) {
	synctest.Test(t, func(t *testing.T) {
		r := &drillRun{c: c, t: t, world: c.build(t)}
		r.start = r.world.Now()
		r.hosts.fill(r)
		f(r)
	})
}

// ask runs the request in the current world, at the time at which it began.
func (r *drillRun) ask() *drillReply {
	r.world.SetTime(r.start)
	env := r.world.NewEnv()
	env.Data = r.world.Env().Data
	return r.askIn(env)
}

// other runs another operation in the same world.
func (r *drillRun) other(operation string, request []byte) *drillReply {
	asking := *r
	asking.c.ep, asking.c.request, asking.c.profile = endpointNamed(operation), request, nil
	return asking.ask()
}

func (r *drillRun) askIn(env *diag.Env) *drillReply {
	reply := &drillReply{status: http.StatusOK}
	reply.whole = r.c.ep.Name() == "mail/domain-check" || r.c.ep.Name() == "deliverability/score"
	result, err := r.c.ep.RunHosted(r.t.Context(), env, r.hosts.access(r), r.c.request)
	if err == nil {
		reply.body = result.Body
	} else {
		f := problemFor(err)
		reply.status = f.status
		reply.body, _ = encode(f.problem)
	}
	if err := json.Unmarshal(reply.body, &reply.all); err != nil {
		r.t.Fatalf("%s: the reply is no JSON: %v", r.c.name, err)
	}
	defer func() { reply.Partial = reply.Partial || reply.Live.Partial }()
	json.Unmarshal(reply.body, reply) // an operation without verdict has fewer fields, and an image none
	return reply
}

// suggested are the values that a reply suggests.
func (d *drillReply) suggested() []string { return suggestions(d.all) }

// verdict reports whether the reply has one.
func (d *drillReply) verdict() bool { return d.State != "" }

// yes lists the paths of what the reply affirms: booleans that a reader understands as a promise.
func (d *drillReply) yes() []string { return affirmed(d.all, "") }

var promises = map[string]bool{
	"valid": true, "ready": true, "compliant": true, "eligible": true, "authorized": true, "covered": true, "complete": true,
	"trusted": true, "hostname_match": true, "met": true, "protected": true, "consistent": true, "forward_confirmed": true,
}

func affirmed(v any, path string) (list []string) {
	switch v := v.(type) {
	case map[string]any:
		for _, name := range sortedKeys(v) {
			if b, ok := v[name].(bool); ok && b && promises[name] {
				list = append(list, path+name)
			}
			list = append(list, affirmed(v[name], path+name+".")...)
		}
	case []any:
		for _, item := range v {
			list = append(list, affirmed(item, path)...)
		}
	}
	return list
}

// A question is a DNS query, or an exchange with a server.
type question struct {
	name   string
	qtype  uint16
	server netip.AddrPort // of an exchange over TCP
}

func (q question) String() string {
	if q.server.IsValid() {
		return "exchange with " + q.server.String()
	}
	return dns.TypeToString[q.qtype] + " " + q.name
}

// questions returns those since the world last forgot, each once, in a stable order.
func (r *drillRun) questions() []question {
	seen := map[question]bool{}
	for _, q := range r.world.Queries() {
		seen[question{name: q.Name, qtype: q.Type}] = true
	}
	for _, c := range r.world.Connections() {
		if c.Network == "tcp" && c.Addr.Port() != 53 && c.Addr.Port() != 853 && !strings.HasSuffix(c.Addr.Addr().String(), ".53") {
			seen[question{server: c.Addr}] = true
		}
	}
	list := make([]question, 0, len(seen))
	for q := range seen {
		list = append(list, q)
	}
	slices.SortFunc(list, func(a, b question) int { return strings.Compare(a.String(), b.String()) })
	return list
}

// A failing is a way for a question to go unanswered.
type failing string

// The kinds of failure. Instead of SERVFAIL, a server that is contacted over TCP is unreachable.
const (
	servfail failing = "SERVFAIL"
	silence  failing = "silence"
)

// fail leaves a question unanswered, and returns a function that undoes it.
func (r *drillRun) fail(q question, how failing) (undo func()) {
	if q.server.IsValid() {
		if c, err := r.world.Dial(r.t.Context(), "tcp", q.server.String()); err == nil {
			c.Close()
		} else {
			how = servfail // no server listens there, and a connection would be something new
		}
		before := r.world.Behaves(q.server.String())
		r.world.Behave(q.server.String(), map[failing]diagtest.Behaviour{servfail: diagtest.Unreachable, silence: diagtest.Hangs}[how])
		return func() { r.world.Behave(q.server.String(), before) }
	}
	fault := diagtest.Fault{Rcode: dns.RcodeServerFailure}
	if _, err := r.world.Exchange(r.t.Context(), new(dns.Msg).SetQuestion(q.name, q.qtype)); err != nil || how == silence {
		fault = diagtest.Fault{Silent: true} // where no server answers, a failure would be something new
	}
	r.world.FaultEverywhere(q.name, q.qtype, fault)
	return func() { r.world.FaultEverywhere(q.name, q.qtype, diagtest.Fault{}) }
}

// someOf returns at most n of a list, picked by chance from a seed that is the name.
func someOf[T any](list []T, n int, name string) []T {
	if len(list) <= n {
		return list
	}
	h := fnv.New64a()
	h.Write([]byte(name))
	rng := rand.New(rand.NewPCG(h.Sum64(), 0))
	picked := slices.Clone(list)
	rng.Shuffle(len(picked), func(i, j int) { picked[i], picked[j] = picked[j], picked[i] })
	return picked[:n]
}

// drillShare is one of how many cases is played: more of them in a full run.
func drillShare(full, short uint64) uint64 {
	if testing.Short() {
		return short
	}
	return full
}

// drillCases returns the scenarios with their own requests, and all network operations on each domain of a scenario's
// world.
func drillCases(t *testing.T) (own, others []drillCase) {
	built := map[string]Endpoint{}
	for _, ep := range endpoints {
		built[ep.Method+" "+ep.Path] = ep
	}
	files := scenarioFiles(t)
	asked := map[string]bool{}
	for _, path := range sortedKeys(files) {
		file := files[path]
		ep, ok := built[file.Operation]
		if !ok && file.target() == "" {
			continue
		}
		name := strings.TrimSuffix(path, ".json")
		c := drillCase{name: name, world: file.World, ep: ep, request: privateKeys(t, file.Request)}
		if ok && ep.Name() == "mail/header-analyze" {
			c.message = c.request
		}
		if ok { // what diag does about a target are operations about its domain
			own = append(own, c)
		}
		subject := cmp.Or(subjectOf(c.request), authorOf(c.request), hostOf(file.target()))
		world, err := json.Marshal(file.World)
		if err != nil || file.World.Zone == "" || subject == "" || asked[subject+string(world)] {
			continue
		}
		asked[subject+string(world)] = true
		for _, other := range endpoints {
			if body := requestAbout(other, subject); body != nil && other.Path != ep.Path {
				others = append(others, drillCase{
					name: name + " by " + other.Name(), world: file.World, ep: other, request: body, message: c.message,
				})
			}
		}
	}
	return own, slices.Concat(others, demoCases(t), hostedCases(own))
}

// demoCases are all operations about each domain of the demonstration.
func demoCases(t *testing.T) (list []drillCase) {
	at := time.Date(2026, time.November, 1, 12, 0, 0, 0, time.UTC)
	build := func(t testing.TB) *diagtest.World {
		world, err := internet.New(at)
		require.NoError(t, err)
		t.Cleanup(world.Close)
		return world
	}
	for _, domain := range internet.Domains() {
		for _, ep := range endpoints {
			if body := requestAbout(ep, domain); body != nil {
				list = append(list, drillCase{name: "demo/" + domain + " by " + ep.Name(), other: build, ep: ep, request: body})
			}
		}
	}
	return list
}

// subjectOf returns the domain that a request is about; empty if it has none.
func subjectOf(request []byte) string {
	var body struct{ Domain, Host, URL, Email string }
	if json.Unmarshal(request, &body) != nil {
		return ""
	}
	subject := body.Domain + body.Host
	if body.URL != "" {
		subject = hostOf(body.URL)
	}
	if _, domain, ok := strings.Cut(body.Email, "@"); ok {
		subject = domain
	}
	if _, err := diag.ParseDomain(subject); err != nil {
		return ""
	}
	return subject
}

// hostOf is the host of a URL, whose scheme may be left out.
func hostOf(url string) string {
	return regexp.MustCompile(`^([a-z]+://)?([^/:?#]+).*`).ReplaceAllString(url, "$2")
}

// authorOf is the domain of the From field of a message that a request holds; empty if it holds none.
func authorOf(request []byte) string {
	found := regexp.MustCompile(`(?mi)^From:.*@([a-z0-9.-]+)`).FindStringSubmatch(fieldOf(request, "message"))
	if found == nil {
		return ""
	}
	return strings.ToLower(found[1])
}

// requestAbout returns the request of a network operation about a domain; nil if its subject is not a domain.
func requestAbout(ep Endpoint, domain string) []byte {
	more := map[string]string{
		"resolve": `"qname":%q,"qtype":"A"`, "resolve/propagation": `"qname":%q`, "dkim/lookup": `"domain":%q,"selector":"s1"`,
		"url/check": `"url":%q`, "page/crawl-check": `"url":%q`, "phishing/check": `"url":%q`, "http/headers-check": `"url":%q`,
		"certificates/ssl/check": `"host":%q`,
	}
	if form, ok := more[ep.Name()]; ok {
		return fmt.Appendf(nil, "{"+form+"}", domain)
	}
	if _, validates := strings.CutSuffix(ep.Name(), "/validate"); validates || ep.Operation.hosted || ep.Method != http.MethodPost {
		return nil
	}
	switch ep.Name() {
	case "dmarc/generate", "dmarcbis/migrate", "dns/idn", "certificats/bimi/parse":
		return nil
	}
	body := fmt.Appendf(nil, `{"domain":%q}`, domain)
	if _, err := ep.Operation.decode(body); err != nil {
		return nil
	}
	return bytes.Clone(body)
}

// rulesByAnyCode has the rules of all operations by code.
func rulesByAnyCode() map[diag.Code]rule.Description {
	book := map[diag.Code]rule.Description{}
	for _, ep := range endpoints {
		for _, r := range ep.Rules() {
			book[r.Code] = r
		}
	}
	return book
}
