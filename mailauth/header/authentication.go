package header

import (
	"slices"
	"strings"

	"github.com/diagkit/diagkit/mailauth/authres"
	"github.com/diagkit/diagkit/mailauth/internal/filters"
	"github.com/diagkit/diagkit/mailauth/internal/route"
	"github.com/diagkit/diagkit/mailauth/message"
)

const maxAuthFields = 100

// readAuthentication reads the fields with results, and separates those of the receiving side from those that came
// with the message (RFC 8601 section 5).
func (e *evidence) readAuthentication() {
	end := e.receivedRegion()
	var own []string // organizational domains of the receiving side
	if org := e.path.Receiver(); org != "" {
		own = append(own, org)
	}
	for i := range e.msg.Fields {
		a := authField{field: &e.msg.Fields[i], position: i}
		if len(e.authFields) >= maxAuthFields {
			return
		}
		if !a.parse() {
			continue
		}
		a.foreign = !e.ofReceiver(&a, end, own)
		if org := route.Operator(a.id); !a.foreign && a.header != nil && org != "" {
			own = append(own, org)
		}
		e.authFields = append(e.authFields, a)
	}
	e.distrustUnnamed()
}

func (a *authField) parse() bool {
	var err error
	switch {
	case a.field.Is("Authentication-Results"):
		if a.header, err = authres.Parse(a.field.Value()); err == nil {
			a.id = strings.ToLower(a.header.AuthservID)
		}
	case a.field.Is("Received-SPF"):
		if a.spf, err = authres.ParseReceivedSPF(a.field.Value()); err == nil {
			a.id = strings.ToLower(a.spf.Get("receiver"))
		}
	default:
		return false
	}
	return err == nil
}

// distrustUnnamed treats results without a server name as foreign where the receiving side names itself in its own:
// servers of Microsoft omit their name, also in outgoing mail.
func (e *evidence) distrustUnnamed() {
	named := slices.ContainsFunc(e.authFields,
		func(a authField) bool { return a.header != nil && !a.foreign && a.id != "" })
	if n := len(e.path.Hops); !named || n > 0 && e.path.Hops[n-1].Microsoft() {
		return
	}
	for i := range e.authFields {
		if a := &e.authFields[i]; a.header != nil && a.id == "" {
			a.foreign = true
		}
	}
}

func (e *evidence) readComposite() {
	for i := range e.authFields {
		if a := &e.authFields[i]; a.header != nil && !a.foreign {
			for _, r := range a.header.Results {
				if r.Method == "compauth" {
					e.spam = append(e.spam, filters.Composite(a.field, r))
				}
			}
		}
	}
}

// receivedRegion returns how many fields at the top the receiving side wrote: all before the Received that follows the
// one of the border. Without a border it is all before the first Received of another organization, or before the second
// one.
func (e *evidence) receivedRegion() int {
	org, newer := e.path.Receiver(), len(e.path.Hops)
	for i := range e.msg.Fields {
		if !e.msg.Fields[i].Is("Received") {
			continue
		}
		if newer--; newer < 0 {
			break
		}
		by, border := route.Operator(e.path.Hops[newer].By), e.path.Border
		switch {
		case border >= 0 && newer < border, border < 0 && by != "" && by != org,
			border < 0 && org == "" && newer < len(e.path.Hops)-1:
			return i
		}
	}
	return len(e.msg.Fields)
}

// ofReceiver reports whether a field was written where the message was received: it is in the part of the header that
// the receiving side wrote and names one of its servers or no server, or it is at the top, where the receiver writes.
// Servers of Microsoft omit their name, and others have internal ones.
func (e *evidence) ofReceiver(a *authField, end int, own []string) bool {
	org := route.Operator(a.id)
	first := slices.IndexFunc(e.msg.Fields, func(f message.Field) bool { return f.Is("Received") })
	return a.position < end &&
		(a.spf != nil || org == "" || slices.Contains(own, org) || first < 0 || a.position < first || len(own) == 0)
}

// trusts reports whether the request trusts a server; known is false if it names no servers.
func (e *evidence) trusts(id string) (trusted, known bool) {
	return slices.Contains(e.trusted, strings.ToLower(id)), e.trusted != nil
}

// counts reports whether the results of a field count: those of trusted servers or, if the request names no servers,
// those that the receiving side wrote.
func (e *evidence) counts(a *authField) bool {
	if trusted, known := e.trusts(a.id); known {
		return trusted && a.header != nil
	}
	return !a.foreign
}

// results returns the results of a method that count, the newest field first. Received-SPF only counts where no
// Authentication-Results has a result for SPF.
func (e *evidence) results(method string) []result {
	var list, second []result
	for i := range e.authFields {
		a := &e.authFields[i]
		switch {
		case !e.counts(a):
		case a.header != nil:
			list = append(list, a.of(method)...)
		case method == "spf":
			second = append(second, spfResult(a.spf))
		}
	}
	if len(list) == 0 {
		return second
	}
	return list
}

func (a *authField) of(method string) (list []result) {
	for _, r := range a.header.Results {
		if r.Method == method {
			list = append(list, r)
		}
	}
	return list
}

func spfResult(r *authres.ReceivedSPF) result {
	name := "mailfrom"
	if strings.EqualFold(r.Get("identity"), "helo") {
		name = "helo"
	}
	result := result{Method: "spf", Value: r.Result, Comments: r.Comments}
	if d := r.Domain(); d != "" {
		result.Properties = []authres.Property{{Type: "smtp", Name: name, Value: d}}
	}
	return result
}

// result returns the newest result of a method that counts: of several signatures the first one that passes.
func (e *evidence) result(method string) (result, bool) {
	list := e.results(method)
	if i := slices.IndexFunc(list, passed); i > 0 && method == "dkim" {
		return list[i], true
	}
	if len(list) == 0 {
		return result{}, false
	}
	return list[0], true
}

func passed(r result) bool { return r.Value == "pass" }

func (e *evidence) passing(method string) []result {
	return slices.DeleteFunc(slices.Clone(e.results(method)), func(r result) bool { return !passed(r) })
}

// aligned reports whether a method passed for the domain in From (RFC 9989); known is false without any result, and
// where a passing result does not state its domain.
func (e *evidence) aligned(method string) (aligned, known bool) {
	list := e.results(method)
	if e.fromDomain == "" || len(list) == 0 {
		return false, false
	}
	known = true
	for i := range list {
		domain := e.domainOf(&list[i])
		switch {
		case !passed(list[i]):
		case domain == "":
			known = false
		case route.SameOrganization(domain, e.fromDomain):
			return true, true
		}
	}
	return false, known
}

// domainOf returns the domain that a result is about. If the field does not state it, SPF is about the envelope
// sender.
func (e *evidence) domainOf(r *result) string {
	if d := r.Domain(); d != "" || r.Method != "spf" || e.returnPath == nil {
		return d
	}
	return e.returnPath.Domain
}

func (e *evidence) value(method string) string {
	r, _ := e.result(method)
	return r.Value
}

func (e *evidence) has(method string) bool { return len(e.results(method)) > 0 }
