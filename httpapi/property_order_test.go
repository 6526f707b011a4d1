//go:build !race

package httpapi

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/diag/view"
	"github.com/diagkit/diagkit/mailauth/spf/eval"
	"github.com/stretchr/testify/require"
)

// TestPropertyOrder applies the steps that mail/domain-check prints, each alone and all in their order: after each of
// them, every sender that sent mail of the name or delivered mail to it still does, and the fault of the step is gone
// or milder.
func TestPropertyOrder(t *testing.T) {
	worlds, done, faulty := 0, 0, 0
	forEach(t, propertyCases(t, drillShare(12, 60)), func(t *testing.T, c drillCase, found *sync.Mutex) {
		c.play(t, func(r *drillRun) {
			before := r.ask()
			if before.status != 200 {
				return
			}
			steps := before.report(t).Steps
			n, faults := r.inOrder(before, steps)
			found.Lock()
			defer found.Unlock()
			worlds, done, faulty = worlds+1, done+n, faulty+len(faults)
			for _, f := range faults {
				t.Error(f)
			}
		})
	})
	require.NotZero(t, done, "no step was done")
	t.Logf("worlds: %d, steps done: %d, faults: %d", worlds, done, faulty)
}

// PlayOrder does the same with the steps that diag prints about mail.
func PlayOrder(t *testing.T, viewOf func(context.Context, *diag.Env, string) (*view.View, error)) {
	done, faulty := 0, 0
	forEach(t, propertyCases(t, drillShare(40, 200)), func(t *testing.T, c drillCase, found *sync.Mutex) {
		c.play(t, func(r *drillRun) {
			before := r.ask()
			if before.status != 200 {
				return
			}
			v, err := viewOf(r.t.Context(), r.again().world.Env(), c.subject())
			if _, bad := errors.AsType[*diag.InputError](err); bad {
				return // other operations take more than diag does as a target
			}
			require.NoError(t, err)
			steps := slices.DeleteFunc(v.Steps, func(s view.Step) bool { return strings.Contains(s.Value, " IN TLSA ") })
			n, faults := r.inOrder(before, steps) // the others are of one world alone
			found.Lock()
			defer found.Unlock()
			done, faulty = done+n, faulty+len(faults)
			for _, f := range faults {
				t.Error(f)
			}
		})
	})
	require.NotZero(t, done, "no step was done")
	t.Logf("steps done: %d, faults: %d", done, faulty)
}

// served maps each sender to an empty text, or to why its mail fails.
type served map[string]string

// lost lists senders that were served before and are not now.
func (before served) lost(now served) (list []string) {
	for _, who := range sortedKeys(before) {
		if why := now[who]; before[who] == "" && why != "" {
			list = append(list, who+": "+why)
		}
	}
	return list
}

// An observer checks the same senders in all worlds of a case.
type observer struct {
	domain    string
	addresses []netip.Addr // that passed SPF in the beginning
	keys      []string     // that worked in the beginning
}

func (r *drillRun) observer() observer {
	o := observer{domain: r.c.subject()}
	addresses := boundaries(r.networks(o.domain, ""))
	most := 16
	if diagtest.Whole() {
		most = maxAddresses
	}
	for _, a := range someOf(addresses, most, r.c.name) {
		if a != strangerIP && r.spf(a, o.domain) == eval.Pass {
			o.addresses = append(o.addresses, a)
		}
	}
	o.keys = r.keys(o.domain)
	return o
}

// look determines whose mail is delivered in a world.
func (o *observer) look(r *drillRun) served {
	list := served{}
	refused := func(who string, f follows) {
		if list[who] = ""; f.refused {
			list[who] = "receivers refuse it"
		}
	}
	for _, a := range o.addresses {
		refused("mail from "+a.String(), r.receives(o.domain, o.domain, a))
		if outcome := r.spf(a, o.domain); outcome != eval.Pass {
			list["SPF of "+a.String()] = "it is " + string(outcome)
		}
	}
	if len(o.addresses) > 0 {
		refused("mail of a name below", r.receives("news."+o.domain, o.domain, o.addresses[0]))
	}
	now := r.keys(o.domain)
	for _, k := range o.keys {
		if !slices.Contains(now, k) {
			list["mail signed with "+k] = "the key does not work"
			continue
		}
		refused("mail signed with "+k, r.receives(o.domain, strangerDomain, strangerIP, o.domain))
		refused("mail of a name below signed with "+k, r.receives("news."+o.domain, strangerDomain, strangerIP, o.domain))
	}
	for host, why := range r.deliveries(o.domain) {
		list["strict senders to "+host] = why
	}
	list["senders to the name"] = r.delivers(o.domain)
	return list
}

// copied returns a fresh copy of a world with the steps in it. The certificates of its servers are made anew with it,
// and the records of their keys, too.
func (r *drillRun) copied(steps []view.Step) (*drillRun, []view.Step) {
	fresh := r.again()
	if slices.ContainsFunc(steps, func(s view.Step) bool { return strings.Contains(s.Value, " IN TLSA ") }) {
		own := fresh.ask().report(r.t).Steps
		require.Len(r.t, own, len(steps))
		steps = own
	}
	return fresh, steps
}

// inOrder applies the steps of a reply that publish something, and lists what they break or leave unchanged.
func (r *drillRun) inOrder(before *drillReply, steps []view.Step) (done int, faults []string) {
	o := r.observer()
	first := o.look(r)
	all, inAll := r.copied(steps)
	last := first
	for i := range steps {
		if steps[i].Value == "" {
			continue
		}
		done++
		alone, own := r.copied(steps)
		s := own[i]
		report := func(how, format string, args ...any) {
			step := fmt.Sprintf("step %d %s %s publishes %q at %q: ", i+1, how, s.Code, s.Value, s.Name)
			faults = append(faults, step+fmt.Sprintf(format, args...))
		}
		lost := func(how string, before, now served) {
			for _, l := range before.lost(now) {
				if !r.allowed(s, l) {
					report(how, "%s", l)
				}
			}
		}
		if s.Name == "" && !dnsLine.MatchString(s.Value) { // which has its name
			report("alone", "nobody is told where")
		}
		sameCode := func(o view.Step) bool { return o.Code == s.Code && o.Value != "" }
		for _, o := range own[:i] { // those which belong to it: a policy is served before the record that announces it
			if sameCode(o) {
				alone.apply(before, o)
			}
		}
		if !alone.apply(before, s) {
			report("alone", "nobody can tell where")
			continue
		}
		lost("alone", first, o.look(alone))
		if s.After == "" && !slices.ContainsFunc(own[i+1:], sameCode) {
			if why := remains(before, alone.ask(), s, own); why != "" {
				report("alone", "%s", why)
			}
		}
		all.apply(before, inAll[i])
		now := o.look(all)
		lost("in order", last, now)
		last = now
	}
	return done, faults
}

// remains reports that the fault of a step is still there, and no milder; empty if it is not.
func remains(before, after *drillReply, s view.Step, steps []view.Step) string {
	if after.status != 200 {
		return fmt.Sprintf("then status %d: %s", after.status, after.body)
	}
	worst := func(d *drillReply) (severity diag.Severity, n int) {
		severity = -1
		for _, f := range d.Findings {
			if f.Code == s.Code {
				severity, n = max(severity, f.Severity), n+1
			}
		}
		return severity, n
	}
	was, many := worst(before)
	is, left := worst(after)
	waits := slices.ContainsFunc(steps, func(o view.Step) bool {
		return o.Code == s.Code && staged(diag.Recommendation{Code: o.Code, Detail: o.Text})
	})
	if is < 0 || is < was || left < many || waits {
		return ""
	}
	return "its finding is still there"
}

// An exception is a permitted effect of a step, with the reason.
type exception struct {
	code   *regexp.Regexp
	lost   string // how it begins; empty: anything
	reason string
}

func (e *exception) is(s view.Step, lost string) bool {
	return e.code.MatchString(string(s.Code)) && strings.HasPrefix(lost, e.lost)
}

func (r *drillRun) allowed(s view.Step, lost string) bool {
	return strings.HasSuffix(r.c.name, " wildcard") ||
		slices.ContainsFunc(mayLose, func(e exception) bool { return e.is(s, lost) })
}

// byMistake are rules against a record that authorizes senders by mistake.
var byMistake = regexp.MustCompile(`^spf\.(all\.pass|network\.|term\.dangling|exists\.everyone)`)

// mayLose are losses that a step is for. Of names that exist by a wildcard alone everything may be lost: the wildcard
// does not hold for them once anything is published below them (RFC 4592 section 3.3.1), and no part knows that.
var mayLose = []exception{
	{byMistake, "SPF of ", "whom the record lets pass by mistake is to fail"},
	{byMistake, "mail ", "whom the record lets pass by mistake is to fail"},
}
