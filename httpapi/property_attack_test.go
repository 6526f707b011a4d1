//go:build !race

package httpapi

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/view"
	"github.com/diagkit/diagkit/mailauth/domaincheck"
	"github.com/diagkit/diagkit/mailauth/nameuse"
	"github.com/miekg/dns"
	"github.com/stretchr/testify/require"
)

// PlayAttacks plays what the model of a name and the headline about it say that others can do and its owner cannot: a
// stranger forges the name, a message is sent to it, and its own hosts send one. The view is the one that diag
// prints.
func PlayAttacks(t *testing.T, viewOf func(context.Context, *diag.Env, string) (*view.View, error)) {
	worlds, faulty, said, answers := 0, 0, map[string]int{}, map[string]int{}
	forEach(t, propertyCases(t, drillShare(8, 60)), func(t *testing.T, c drillCase, found *sync.Mutex) {
		c.play(t, func(r *drillRun) {
			reply := r.ask()
			if reply.status != 200 {
				return
			}
			report := reply.report(t)
			if report.Name.Kind == "" { // it does not exist
				return
			}
			v, err := viewOf(r.t.Context(), r.again().world.Env(), c.subject())
			require.NoError(t, err)
			headline := v.Headline
			played := r.attack()
			faults := played.against(&report.Name, headline)
			found.Lock()
			defer found.Unlock()
			worlds++
			faulty += len(faults)
			answers["forgeable: "+string(report.Name.Forgeable.Answer)]++
			answers["receives: "+string(report.Name.Receives.Answer)]++
			for _, s := range sentences {
				if strings.Contains(headline, s) {
					said[s]++
				}
			}
			for _, f := range faults {
				t.Errorf("%s; it is said: %q, %s", f, headline, modelText(report))
			}
		})
	})
	require.NotZero(t, worlds)
	t.Logf("worlds: %d, answers: %v, sentences: %v, faults: %d", worlds, answers, said, faulty)
}

func modelText(r *domaincheck.Report) string {
	n := &r.Name
	const form = "%s, forgeable %v, receives %v, sends %v, in force %v"
	return fmt.Sprintf(form, n.Kind, n.Forgeable, n.Receives, n.Sends, n.InForce)
}

// The sentences about consequences that can be played.
const (
	forgeryPossible  = "nybody can send mail as"
	forgeryDelivered = "ail forged in the name"
	cannotReceive    = "obody can send mail to"
	refusedByPolicy  = "ts own policy makes receivers refuse mail"
)

var sentences = []string{forgeryPossible, forgeryDelivered, cannotReceive, refusedByPolicy}

// An attack holds the outcome of the messages that were played.
type attack struct {
	forged    follows // at the most lenient receiver
	lost      string  // why a message to the name is not delivered
	lossKnown bool
	own       []string // hosts that may send as the name, whose mail is delivered
	refused   []string // hosts of the name, whose mail is refused
	keys      []string
}

// attack plays all.
func (r *drillRun) attack() attack {
	domain := r.c.subject()
	a := attack{keys: r.keys(domain)}
	tries := []follows{ // a forger takes the envelope that suits him
		r.receives(domain, strangerDomain, strangerIP), r.receives(domain, domain, strangerIP),
	}
	if r.openKey(domain) {
		tries = append(tries, r.receives(domain, strangerDomain, strangerIP, domain))
	}
	a.forged = tries[0]
	for _, f := range tries[1:] {
		if f.known && (!f.refused || f.lenient) && (a.forged.refused && !a.forged.lenient || !a.forged.known) {
			a.forged = f
		}
	}
	a.lost = r.delivers(domain)
	// Silence is not an answer: many networks block connections to mail servers.
	a.lossKnown = a.lost != unknownMX && !strings.Contains(a.lost, "timeout")
	o := r.observer()
	for _, ip := range o.addresses {
		if r.receives(domain, domain, ip).refused {
			a.refused = append(a.refused, ip.String())
		} else {
			a.own = append(a.own, ip.String())
		}
	}
	for _, rr := range r.records(domain, dns.TypeMX) {
		for _, at := range r.records(rr.(*dns.MX).Mx, dns.TypeA) {
			ip := addressOf(at)
			if r.receives(domain, domain, ip).refused {
				a.refused = append(a.refused, ip.String())
			} else {
				a.own = append(a.own, ip.String())
			}
		}
	}
	return a
}

// openKey reports whether strangers can sign with a key of a domain.
func (r *drillRun) openKey(domain string) bool {
	for _, selector := range []string{"s1", "default", "mail"} {
		reply := r.other("dkim/lookup", fmt.Appendf(nil, `{"domain":%q,"selector":%q}`, domain, selector))
		if slices.ContainsFunc(reply.Findings, func(f diag.Finding) bool {
			return f.Code == "dkim.key.private" || f.Code == "dkim.key.factor"
		}) {
			return true
		}
	}
	return false
}

// against lists contradictions between the model of a name, or the headline about it, and the played attack.
func (a *attack) against(n *nameuse.Name, headline string) (faults []string) {
	fail := func(is bool, format string, args ...any) {
		if is {
			faults = append(faults, fmt.Sprintf(format, args...))
		}
	}
	contains := func(s string) bool { return strings.Contains(headline, s) }
	delivered := !a.forged.refused || a.forged.lenient
	forged := n.Forgeable.Answer
	fail(!a.forged.known && forged != nameuse.Unknown, "what becomes of forged mail is not known")
	if a.forged.known {
		fail(forged == nameuse.Yes && !delivered, "forged mail is refused")
		fail(forged == nameuse.No && delivered, "forged mail is delivered")
		fail((contains(forgeryPossible) || contains(forgeryDelivered)) && !delivered, "forged mail is refused")
		fail(forged == nameuse.No && (contains(forgeryPossible) || contains(forgeryDelivered)), "the model and the headline differ")
	}
	fail(a.lost == "" && n.Receives.Answer == nameuse.No, "a message is delivered to the name")
	fail(a.lost == "" && contains(cannotReceive), "a message is delivered to the name")
	receives := n.Receives.Answer == nameuse.Yes
	fail(a.lost != "" && a.lossKnown && receives && !contains(cannotReceive), "no message is delivered to the name: %s", a.lost)
	fail(contains(refusedByPolicy) && len(a.own) > 0, "mail of its own hosts is delivered: %v", a.own)
	fail(contains(refusedByPolicy) && len(a.keys) > 0, "mail signed with %v is delivered", a.keys)
	return faults
}
