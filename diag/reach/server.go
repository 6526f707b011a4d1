package reach

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/fetch"
	"github.com/diagkit/diagkit/diag/input"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/pki"
	"github.com/diagkit/diagkit/diag/rule"
)

// The sources of a check that reaches a server, for [rule.Rule.Reads].
const (
	SourceServer rule.Source = "server" // its address, whether it takes a connection, the handshake and the certificate
	SourceAnswer rule.Source = "answer" // what it answers
)

// An Observation records how far a check got in reaching a server, including redirects.
type Observation struct {
	Host string       // the last host that was tried
	Port uint16       // its port
	Way  string       // why that host was tried, as a sentence followed by a space; may be empty
	Err  *fetch.Error // why the check ended there; nil if it did not
	TLS  []*pki.TLS   // TLS connections, in order
	Hops []fetch.Hop  // that answered, in order
	Now  time.Time

	// Plain means that the check began at port 80. Closed and Mute mean that port 80 refuses connections or
	// does not answer, although the HTTPS site of the host answers.
	Plain, Closed, Mute bool

	moved bool // by redirects
}

// Observe returns how far a fetch got.
func Observe(r *fetch.Result, now time.Time) *Observation {
	s := &Observation{
		Host:  r.URL.Host().String(),
		Port:  r.URL.Port(),
		Err:   r.Err,
		Hops:  r.Hops,
		Now:   now,
		moved: len(r.Hops) > 0,
	}
	add := func(t *pki.TLS) {
		same := func(other *pki.TLS) bool { return other.ServerName == t.ServerName }
		if t != nil && !slices.ContainsFunc(s.TLS, same) {
			s.TLS = append(s.TLS, t)
		}
	}
	for i := range r.Hops {
		add(r.Hops[i].TLS)
	}
	add(r.TLS)
	return s
}

// ObservePlain is [Observe] for a fetch that may have begun at port 80. If that port refuses connections or
// does not answer, it returns how far the fetch of the same URL over HTTPS got, up to its first response,
// because browsers try HTTPS first. Secure may be nil.
func ObservePlain(plain, secure *fetch.Result, now time.Time) *Observation {
	s := Observe(plain, now)
	s.Plain = plain.URL.Scheme() == "http" && s.Port == httpPort
	if s.moved {
		first, err := diag.ParseURL(plain.Hops[0].URL)
		s.Plain = err == nil && first.Scheme() == "http" && first.Port() == httpPort
	}
	refuses := Refuses(plain)
	if secure == nil || !refuses && !(Mute(plain) && len(secure.Hops) > 0) {
		return s
	}
	t := &Observation{Host: s.Host, Port: httpsPort, Now: now, Plain: true}
	if len(secure.Hops) > 0 {
		t.TLS, t.Hops = append(t.TLS, secure.Hops[0].TLS), secure.Hops[:1]
	} else {
		t.Err, t.Way = secure.Err, fmt.Sprintf("Port %d of %s refuses connections. ", httpPort, s.Host)
		if secure.TLS != nil {
			t.TLS = append(t.TLS, secure.TLS)
		}
	}
	t.Closed, t.Mute = refuses && t.Err == nil, !refuses
	return t
}

// Mute reports whether a fetch ended because port 80 of its first host did not answer.
func Mute(r *fetch.Result) bool {
	return len(r.Hops) == 0 && r.URL.Scheme() == "http" && r.URL.Port() == httpPort && r.Err != nil &&
		r.Err.Unanswered && r.Err.Step >= fetch.Connecting
}

// Refuses reports whether a fetch ended because port 80 of its first host refused the connection.
func Refuses(r *fetch.Result) bool {
	return len(r.Hops) == 0 && r.URL.Scheme() == "http" && r.URL.Port() == httpPort && r.Err != nil &&
		r.Err.Code == fetch.Connect && !r.Err.Unanswered
}

// The ports of the web (RFC 9110 sections 4.2.1 and 4.2.2).
const (
	httpPort  = 80
	httpsPort = 443
)

// Unanswered implements [rule.Unanswerer]. It lists both sources if a server did not answer or a redirect was
// not followed, because nothing is known about the servers after it.
func (s *Observation) Unanswered() []rule.Source {
	if s == nil || s.Err == nil || !s.Err.Unanswered && !s.Err.Limit {
		return nil
	}
	return []rule.Source{SourceServer, SourceAnswer}
}

// beyond reports whether the check ended at a redirect that is longer than what is read here.
func (s *Observation) beyond() bool { return s.Err != nil && s.Err.Limit }

// Scope lists the hops that were examined and the redirect target that was not, if the target exceeds the
// maximum length of a URL. Otherwise it returns nil.
func (s *Observation) Scope() []diag.ScopePart {
	if s == nil || !s.beyond() {
		return nil
	}
	parts := kit.Map(s.Hops, func(h fetch.Hop) diag.ScopePart {
		return diag.ScopePart{Part: fmt.Sprintf("hop %d", h.Index), State: diag.Examined}
	})
	return append(parts, diag.ScopePart{Part: fmt.Sprintf("target of hop %d", len(s.Hops)), State: diag.LeftOut,
		Reason: fmt.Sprintf("it is longer than %d octets", input.MaxURL)})
}

// is reports whether the check ended for a reason at a step, as a matter of fact.
func (s *Observation) is(code fetch.Reason, steps ...fetch.Step) bool {
	return s.Err != nil && !s.Err.Unanswered && !s.Err.Limit && s.Err.Code == code &&
		(len(steps) == 0 || slices.Contains(steps, s.Err.Step))
}

// failure is why the check came no further, or nil.
func (s *Observation) failure() error {
	if s.Err == nil {
		return nil
	}
	return s.Err
}

// failIf fails with the reason for the end of the check, if the condition holds.
func (s *Observation) failIf(holds bool) rule.Failures {
	if !holds {
		return nil
	}
	return rule.Fail("%s%s", s.Way, phrase.Sentence(strings.TrimSuffix(s.Err.Message, "."))).About(s.Host)
}

func (s *Observation) each(test func(t *pki.TLS, leaf *pki.Certificate) string) rule.Failures {
	return rule.FailEach(s.TLS, func(t *pki.TLS) rule.Failures {
		if t.Leaf() == nil {
			return nil
		}
		text := test(t, t.Leaf())
		return rule.FailIf(text != "", "%s", text).About(t.ServerName)
	})
}

// A Server makes the rules about reaching a server from evidence of type E; see the example. Each row passed
// to Rules names a fact and sets at least its code. Severity, texts and test are those of the fact, unless
// the row sets them. Rows must be ordered with causes before their consequences. If a name does not exist
// there is no score, unless the row has a weight.
//
// The rules read [SourceServer] and [SourceAnswer]: Unanswered of the evidence must include the result of
// [Observation.Unanswered].
type Server[E any] struct {
	Name        string               // name of the server in titles, such as "policy host"; empty means "host"
	Observation func(E) *Observation // returns nil if the server was not asked; then no rule applies
}

// Rules returns the rows, completed.
func (k Server[E]) Rules(rows ...rule.Rule[E]) rule.Rules[E] {
	codes := map[rule.Fact]diag.Code{}
	for i := range rows {
		r, f := &rows[i], served[rows[i].Fact]
		if r.Differs == "" {
			r.Severity = Specs[r.Fact].Severity
		}
		r.Title, r.Requirement = cmp.Or(r.Title, k.named(f.title)), cmp.Or(r.Requirement, k.named(f.requirement))
		r.Reads, r.HoldsWhenUnanswered = append(r.Reads, f.reads), f.applies != nil
		r.When, r.Fails = k.when(f, r.When), func(e E) rule.Failures { return f.fails(k.Observation(e)) }
		if strings.Contains(f.advice, port) && r.Advice == "" {
			r.Fails = k.advising(f)
		}
		r.Ref, r.Advice = cmp.Or(r.Ref, f.ref), cmp.Or(r.Advice, k.named(strings.ReplaceAll(f.advice, port, "this port")))
		if r.Fact == NotLookedUp || r.Fact == Silent || r.Fact == HTTPSilent || r.Fact == LongRedirect {
			r.StateIfFailed = diag.Unknown
		}
		r.NoScore = r.NoScore || r.Fact == NoName && r.Weight == 0
		for _, earlier := range f.after {
			if code, ok := codes[earlier]; ok && !slices.Contains(r.DependsOn, code) {
				r.DependsOn = append(r.DependsOn, code)
			}
		}
		codes[r.Fact] = r.Code
	}
	return rows
}

// port is the placeholder for a port and its host in an advice.
const port = "{port}"

// advising is the test of a fact, with an advice that names the port.
func (k Server[E]) advising(f serverFact) func(E) rule.Failures {
	return func(e E) rule.Failures {
		s := k.Observation(e)
		failures := f.fails(s)
		for i := range failures {
			failures[i].Advice = cmp.Or(failures[i].Advice,
				k.named(strings.ReplaceAll(f.advice, port, fmt.Sprintf("port %d of %s", s.Port, s.Host))))
		}
		return failures
	}
}

// NoDomain completes a rule that fails if the domain in question does not exist, in which case there is no
// score. The rule sets at least its code and its test.
func NoDomain[E any](r rule.Rule[E]) rule.Rule[E] {
	r.Severity, r.StateIfFailed, r.NoScore, r.Fact = Specs[NoName].Severity, diag.Missing, true, NoName
	r.Title, r.Requirement = "Domain does not exist", cmp.Or(r.Requirement, "The domain exists")
	r.Advice = "Check the spelling of the domain, its registration and its delegation."
	r.Ref = cmp.Or(r.Ref, "RFC 8020 section 2")
	return r
}

// when is the condition of a rule: that of the fact, and that of the row. What is not known does not apply, whatever
// the evidence says in Unanswered.
func (k Server[E]) when(f serverFact, row func(E) bool) func(E) bool {
	return func(e E) bool {
		s := k.Observation(e)
		if s == nil || row != nil && !row(e) {
			return false
		}
		if f.applies != nil {
			return f.applies(s)
		}
		return !slices.Contains(s.Unanswered(), f.reads)
	}
}

func (k Server[E]) named(text string) string {
	name := cmp.Or(k.Name, "host")
	return strings.ReplaceAll(strings.ReplaceAll(text, "{host}", name), "{Host}", phrase.Capitalize(name))
}

func ending(grade diag.Severity) func(*Observation) rule.Failures {
	return func(s *Observation) rule.Failures {
		return rule.FailEach(s.TLS, func(t *pki.TLS) rule.Failures {
			leaf := t.Leaf()
			if t.Err() != nil || Ends(leaf.NotBefore, leaf.NotAfter, s.Now) != grade {
				return nil
			}
			in := "in " + phrase.Count(leaf.DaysRemaining, "day")
			if leaf.DaysRemaining < 1 {
				in = "in less than a day"
			}
			return rule.Failures{{Due: leaf.NotAfter, Target: t.ServerName, Detail: fmt.Sprintf(
				"The certificate of %s expires on %s, %s.", t.ServerName, leaf.NotAfter.Format(time.DateOnly), in)}}
		})
	}
}
