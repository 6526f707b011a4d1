package header

import (
	"slices"
	"strings"

	"github.com/diagkit/diagkit/mailauth/authres"
	"github.com/diagkit/diagkit/mailauth/message"
)

// maxAuthFields bounds the fields with results that are read.
const maxAuthFields = 100

// An authField is a field Authentication-Results or Received-SPF.
type authField struct {
	field    *message.Field
	header   *authres.Header      // nil for Received-SPF
	spf      *authres.ReceivedSPF // nil for Authentication-Results
	id       string               // server that wrote it, in lower case; may be empty
	foreign  bool                 // it stands where the sender wrote, or names a server of others
	position int                  // index among all fields
}

// readAuthentication reads the fields with results, and tells those of the receiving side from those that the sender
// brought along (RFC 8601 section 5).
func (e *evidence) readAuthentication() {
	end := e.receivedRegion()
	org := e.receiver()
	var own []string // organizational domains and ids of the receiving side
	if org != "" {
		own = append(own, org)
	}
	for i := range e.msg.Fields {
		f := &e.msg.Fields[i]
		a := authField{field: f, position: i}
		switch {
		case len(e.authFields) >= maxAuthFields:
			return
		case f.Is("Authentication-Results"):
			h, err := authres.Parse(f.Value())
			if err != nil {
				continue
			}
			a.header, a.id = h, strings.ToLower(h.AuthservID)
		case f.Is("Received-SPF"):
			r, err := authres.ParseReceivedSPF(f.Value())
			if err != nil {
				continue
			}
			a.spf, a.id = r, strings.ToLower(r.Get("receiver"))
		default:
			continue
		}
		a.foreign = !e.ofReceiver(&a, end, own)
		if !a.foreign && a.header != nil && operator(a.id) != "" {
			own = append(own, operator(a.id))
		}
		e.authFields = append(e.authFields, a)
	}
	e.doubtNameless()
}

// doubtNameless takes results without a server's name for those of others where the receiving side writes its name
// into its own: servers of Microsoft leave out theirs, also on the way out.
func (e *evidence) doubtNameless() {
	named := slices.ContainsFunc(e.authFields,
		func(a authField) bool { return a.header != nil && !a.foreign && a.id != "" })
	if n := len(e.hops); !named || n > 0 && e.hops[n-1].isMicrosoft() {
		return
	}
	for i := range e.authFields {
		if a := &e.authFields[i]; a.header != nil && a.id == "" {
			a.foreign = true
		}
	}
}

// receivedRegion returns how many fields at the top the receiving side wrote: all before the Received that follows the
// one of the border. Without a border it is all before the first Received of another organization, or before the second
// one.
func (e *evidence) receivedRegion() int {
	org, newer := e.receiver(), len(e.hops)
	for i := range e.msg.Fields {
		if !e.msg.Fields[i].Is("Received") {
			continue
		}
		if newer--; newer < 0 {
			break
		}
		by := operator(e.hops[newer].by)
		switch {
		case e.border >= 0 && newer < e.border, e.border < 0 && by != "" && by != org:
			return i
		case e.border < 0 && org == "" && newer < len(e.hops)-1:
			return i
		}
	}
	return len(e.msg.Fields)
}

// ofReceiver reports whether a field was written where the message was received: it stands in the part of the header
// that the receiving side wrote, and names one of its servers, or none at all.
func (e *evidence) ofReceiver(a *authField, end int, own []string) bool {
	if a.position >= end {
		return false
	}
	org := operator(a.id)
	first := e.firstReceived()
	switch {
	case a.spf != nil, a.id == "", org == "":
		return true // servers of Microsoft leave out their name, and others have internal ones
	case slices.Contains(own, org):
		return true
	case first < 0 || a.position < first:
		return true // who receives writes at the top
	}
	return len(own) == 0
}

// firstReceived is the index of the first field Received, or -1.
func (e *evidence) firstReceived() int {
	return slices.IndexFunc(e.msg.Fields, func(f message.Field) bool { return f.Is("Received") })
}

// trusts reports whether the request trusts a server; known is false if it names none.
func (e *evidence) trusts(id string) (trusted, known bool) {
	if e.trusted == nil {
		return false, false
	}
	return slices.Contains(e.trusted, strings.ToLower(id)), true
}

// counts reports whether the results of a field mean anything: those of trusted servers, or where the request names
// none, those that the receiving side wrote.
func (e *evidence) counts(a *authField) bool {
	if trusted, known := e.trusts(a.id); known {
		return trusted && a.header != nil
	}
	return !a.foreign
}

// results returns the results of a method that count, the newest field first. Received-SPF only counts where no
// Authentication-Results has a result for SPF.
func (e *evidence) results(method string) []authres.Result {
	var list, second []authres.Result
	for i := range e.authFields {
		a := &e.authFields[i]
		switch {
		case !e.counts(a):
		case a.header != nil:
			for _, r := range a.header.Results {
				if r.Method == method {
					list = append(list, r)
				}
			}
		case method == "spf":
			second = append(second, spfResult(a.spf))
		}
	}
	if len(list) == 0 {
		return second
	}
	return list
}

// spfResult is a Received-SPF as Authentication-Results would have it.
func spfResult(r *authres.ReceivedSPF) authres.Result {
	name := "mailfrom"
	if strings.EqualFold(r.Get("identity"), "helo") {
		name = "helo"
	}
	result := authres.Result{Method: "spf", Value: r.Result, Comments: r.Comments}
	if d := r.Domain(); d != "" {
		result.Properties = []authres.Property{{Type: "smtp", Name: name, Value: d}}
	}
	return result
}

// result returns the newest result of a method that counts: of several signatures the first one that passes.
func (e *evidence) result(method string) (authres.Result, bool) {
	list := e.results(method)
	for _, r := range list {
		if r.Value == "pass" && method == "dkim" {
			return r, true
		}
	}
	if len(list) == 0 {
		return authres.Result{}, false
	}
	return list[0], true
}

// aligned reports whether a method passed for the domain in From (RFC 9989); known is false without any result, and
// where the domain of one that passed is not told.
func (e *evidence) aligned(method string) (aligned, known bool) {
	list := e.results(method)
	if e.fromDomain == "" || len(list) == 0 {
		return false, false
	}
	known = true
	for i := range list {
		domain := e.domainOf(&list[i])
		switch {
		case list[i].Value != "pass":
		case domain == "":
			known = false
		case sameOrganization(domain, e.fromDomain):
			return true, true
		}
	}
	return false, known
}

// domainOf is the domain that a result is about. Where the field does not tell, SPF is about the envelope sender.
func (e *evidence) domainOf(r *result) string {
	if d := r.Domain(); d != "" || r.Method != "spf" || e.returnPath == nil {
		return d
	}
	return e.returnPath.Domain
}

// passing returns the results of a method that count and pass.
func (e *evidence) passing(method string) []authres.Result {
	return slices.DeleteFunc(slices.Clone(e.results(method)), func(r authres.Result) bool { return r.Value != "pass" })
}

// A result is what one method found.
type result = authres.Result
