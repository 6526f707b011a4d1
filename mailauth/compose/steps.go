package compose

import (
	"slices"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/view"
)

// doers are those who can take the actions of a part that are not changes of the zone.
var doers = map[Kind]view.Who{
	SPF: view.Zone, DKIM: view.Sender, DMARC: view.Zone, BIMI: view.Zone, MX: view.Zone, MTASTS: view.WebServer,
	DANE: view.Zone, TLSRPT: view.Zone, SMTP: view.MailServer, DNSSEC: view.NameServer, Reputation: view.Sender,
}

// routes are the codes of findings about MX records in the part about mail servers.
var routes = []diag.Code{"smtp.mx.unused", "smtp.mx.implicit", "smtp.mx.implicit.unknown", "smtp.mx.missing", "smtp.mx.null_beside",
	"smtp.mx.literal", "smtp.mx.alias", "smtp.hosts.nxdomain", "smtp.hosts.address", "smtp.hosts.literal", "smtp.hosts.blocked"}

func (t *told) who(value string) view.Who {
	switch {
	case t.part.kind == nameKind || value != "" && t.part.kind != MTASTS || slices.Contains(routes, t.Code):
		return view.Zone
	case t.Target != "" && t.effect() == acceptance && doers[t.part.kind] == "": // of an address
		return view.Network
	}
	return doers[t.part.kind]
}

// loses reports whether mail is lost by the fault as long as it is there.
func (t *told) loses() bool {
	return t.Severity >= diag.Error && !t.part.ignorance(t.Code) && (t.effect() == loss || t.effect() == refusal)
}

func (t *told) step() view.Step {
	s := view.Step{Code: t.Code, Severity: t.Severity, Title: t.Title, Text: t.Advice, Loses: t.loses(), Due: t.Due}
	if t.part.kind != nameKind {
		s.Places = []string{t.part.Target()}
	}
	return s
}

// ordered returns the findings in the order of their steps (CONTRACT 1.14), not by severity as in the list of
// findings.
func (w *Whole) ordered(list []told) []told {
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b told) int { return view.Urgency(a.step(), b.step(), w.Now) })
	return list
}

// Steps returns the actions in order: one step for each recommendation of the verdict, with what belongs to it
// according to the part, such as the record that announces a policy.
func (w *Whole) Steps() []view.Step {
	list := w.ordered(w.merge())
	steps := []view.Step{}
	for _, r := range w.actions(list) {
		i := slices.IndexFunc(list, func(t told) bool {
			return t.Code == r.Code && (t.Advice == r.Detail || t.Title == r.Title)
		})
		if i < 0 || list[i].Severity == diag.Info {
			continue
		}
		t := &list[i]
		s := t.step()
		s.Text, s.Value, s.Who = r.Detail, r.SuggestedValue, t.who(r.SuggestedValue)
		if first := w.first(t); first != nil {
			s.After, s.Wait = first.code, first.held
		}
		if kind := t.part.recordType(t.Code); kind != "" {
			s.Current = t.part.records[:min(len(t.part.records), maxCurrent)]
			if s.Value == "" { // a value has a place of its own
				s.Name, s.Type = t.part.owner+".", kind
			}
		}
		steps = append(steps, s)
		if s.Value != "" {
			steps[len(steps)-1], steps = t.part.publish(s), append(steps, t.part.beside(s)...)
		}
	}
	v := view.View{Steps: view.Order(steps, w.Now)}
	place(&v, w.Domain)
	return v.Steps
}

// maxCurrent bounds the records that a step shows.
const maxCurrent = 10

// policyRecords are the faults of MTA-STS whose cause lies in its TXT record; the others lie in the policy or the mail
// servers.
var policyRecords = []diag.Code{"mtasts.record.location", "mtasts.record.alias", "mtasts.record.missing.no_mail", "mtasts.record.wildcard",
	"mtasts.record.version", "mtasts.record.stray", "mtasts.record.multiple", "mtasts.record.blank", "mtasts.record.syntax",
	"mtasts.record.joined", "mtasts.record.id.missing", "mtasts.record.id.invalid", "mtasts.record.repeated"}

// recordType returns the type of the record that causes a finding of the part; empty if the cause is elsewhere.
func (s *Summary) recordType(code diag.Code) string {
	switch {
	case s.owner == "":
		return ""
	case s.kind == MX:
		return "MX"
	case slices.Contains([]Kind{SPF, DKIM, DMARC, BIMI, TLSRPT}, s.kind), s.kind == MTASTS && slices.Contains(policyRecords, code):
		return "TXT"
	}
	return ""
}

// publish says where the value of a step belongs, as the part's own view does.
func (s *Summary) publish(step view.Step) view.Step {
	for _, own := range s.view {
		if own.Value == step.Value {
			step.Name, step.Type = own.Name, own.Type
		}
	}
	return step
}

// beside returns the steps that follow one in the part's own view, for the same rule.
func (s *Summary) beside(step view.Step) (list []view.Step) {
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
