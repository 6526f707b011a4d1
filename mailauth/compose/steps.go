package compose

import (
	"slices"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/view"
	"github.com/diagkit/diagkit/mailauth/nameuse"
)

// actors are those who can take the actions of a part that are not changes of the zone.
var actors = map[Kind]view.Who{
	SPF: view.Zone, DKIM: view.Sender, DMARC: view.Zone, BIMI: view.Zone, MX: view.Zone, MTASTS: view.WebServer,
	DANE: view.Zone, TLSRPT: view.Zone, SMTP: view.MailServer, DNSSEC: view.NameServer, Reputation: view.Sender,
}

// mxCodes are the codes of findings about MX records in the part about mail servers.
var mxCodes = []diag.Code{"smtp.mx.unused", "smtp.mx.implicit", "smtp.mx.implicit.unknown", "smtp.mx.missing",
	"smtp.mx.null_beside",
	"smtp.mx.literal", "smtp.mx.alias", "smtp.hosts.nxdomain", "smtp.hosts.address", "smtp.hosts.literal",
	"smtp.hosts.blocked"}

func (f *finding) actor(value string) view.Who {
	switch {
	case f.part.kind == nameKind || value != "" && f.part.kind != MTASTS || slices.Contains(mxCodes, f.Code):
		return view.Zone
	case f.Target != "" && f.effect() == acceptance && actors[f.part.kind] == "": // of an address
		return view.Network
	}
	return actors[f.part.kind]
}

// losesMail reports whether mail is lost by the fault as long as it is there. A policy of MTA-STS that senders do not
// enforce loses none.
func (c *Composite) losesMail(f *finding) bool {
	return f.Severity >= diag.Error && !f.part.isUnknown(f.Code) && (f.effect() == loss || f.effect() == refusal) &&
		(f.part.kind != MTASTS || c.Name.InForce.MTASTS == nameuse.ModeEnforce)
}

func (c *Composite) step(f *finding) view.Step {
	s := view.Step{Code: f.Code, Severity: f.Severity, Title: f.Title, Text: f.Advice, Loses: c.losesMail(f), Due: f.Due}
	if f.part.kind != nameKind {
		s.Places = []string{f.part.Target()}
	}
	return s
}

// inStepOrder returns the findings in the order of their steps (CONTRACT 1.14), not by severity as in the list of
// findings.
func (c *Composite) inStepOrder(list []finding) []finding {
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b finding) int { return view.Urgency(c.step(&a), c.step(&b), c.Now) })
	return list
}

// Steps returns the actions in order: one step for each recommendation of the verdict, with what belongs to it
// according to the part, such as the record that announces a policy.
func (c *Composite) Steps() []view.Step {
	list := c.inStepOrder(c.mergedFindings())
	steps := []view.Step{}
	for _, r := range c.recommendations(list) {
		i := slices.IndexFunc(list, func(f finding) bool {
			return f.Code == r.Code && (f.Advice == r.Detail || f.Title == r.Title)
		})
		if i < 0 || list[i].Severity == diag.Info {
			continue
		}
		f := &list[i]
		s := c.step(f)
		for j := range list {
			if j != i && list[j].Advice == f.Advice && list[j].Severity > diag.Info {
				s = s.With(c.step(&list[j]))
			}
		}
		s.Text, s.Value, s.Who = r.Detail, r.SuggestedValue, f.actor(r.SuggestedValue)
		if first := c.blockedBy(f); first != nil {
			s.After, s.Wait = first.code, first.ttlSeconds
		}
		if kind := f.part.recordType(f.Code); kind != "" {
			s.Current = f.part.records[:min(len(f.part.records), maxCurrent)]
			if s.Value == "" { // a value has a place of its own
				s.Name, s.Type = f.part.owner+".", kind
			}
		}
		steps = append(steps, s)
		if s.Value != "" {
			steps[len(steps)-1], steps = f.part.withPlace(s), append(steps, f.part.followingSteps(s)...)
		}
	}
	v := view.View{Steps: view.Order(steps, c.Now)}
	setPlaces(&v, c.Domain)
	return v.Steps
}

// maxCurrent bounds the records that a step shows.
const maxCurrent = 10

// policyRecords are the faults of MTA-STS whose cause lies in its TXT record; the others lie in the policy or the mail
// servers.
var policyRecords = []diag.Code{"mtasts.record.location", "mtasts.record.alias", "mtasts.record.missing.no_mail",
	"mtasts.record.wildcard",
	"mtasts.record.version", "mtasts.record.stray", "mtasts.record.multiple", "mtasts.record.blank",
	"mtasts.record.syntax",
	"mtasts.record.joined", "mtasts.record.id.missing", "mtasts.record.id.invalid", "mtasts.record.repeated"}

// recordType returns the type of the record that causes a finding of the part; empty if the cause is elsewhere.
func (s *Summary) recordType(code diag.Code) string {
	switch {
	case s.owner == "":
		return ""
	case s.kind == MX:
		return "MX"
	case slices.Contains([]Kind{SPF, DKIM, DMARC, BIMI, TLSRPT}, s.kind), s.kind == MTASTS &&
		slices.Contains(policyRecords, code):
		return "TXT"
	}
	return ""
}

// withPlace says where the value of a step belongs, as the part's own view does.
func (s *Summary) withPlace(step view.Step) view.Step {
	for _, own := range s.view {
		if own.Value == step.Value {
			step.Name, step.Type = own.Name, own.Type
		}
	}
	return step
}

// followingSteps returns the steps that follow one in the part's own view, for the same rule.
func (s *Summary) followingSteps(step view.Step) (list []view.Step) {
	i := slices.IndexFunc(s.view, func(own view.Step) bool { return own.Value == step.Value })
	if i < 0 {
		return nil
	}
	for _, own := range s.view[i+1:] {
		if own.Code != step.Code {
			break
		}
		own.Title, own.Loses, own.Due, own.Places, own.Who = step.Title, step.Loses, step.Due, step.Places, view.Zone
		list = append(list, own)
	}
	return list
}
