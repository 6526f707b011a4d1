package dashboard

import (
	"context"
	"errors"
	"net/http"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/view"
	"github.com/diagkit/diagkit/httpapi"
	"github.com/diagkit/diagkit/metering"
)

// A scene is a request on its way through a page.
type scene struct {
	page    *page
	title   string   // of the page that is shown, for which the table has the usual one
	visitor *visitor // nil for pages that anybody may see
	form    *form
	from    netip.Addr
	status  int // of the reply
	header  http.Header
}

type sceneKey struct{}

func sceneOf(r *http.Request) *scene { return r.Context().Value(sceneKey{}).(*scene) }

// A problem is why there is an error page in place of another.
type problem struct {
	status        int
	Heading, Text string
	Entry         bool // whether to lead to the entry
}

// Error implements error.
func (p *problem) Error() string { return p.Heading }

// maxForm bounds the body of a form that administers something.
const maxForm = 64 << 10

// serve answers for a page: who may see it, what it shows, and how what goes wrong is told.
func (d *dashboard) serve(p *page) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-store")
		s := &scene{page: p, title: p.title, form: &form{}, status: http.StatusOK, header: w.Header(),
			from: httpapi.ClientIP(r, d.TrustedProxies)}
		r = r.WithContext(context.WithValue(r.Context(), sceneKey{}, s))
		err := d.admit(r)
		if err == nil {
			err = d.answer(w, r)
		}
		if err != nil {
			d.fail(w, r, err)
		}
	}
}

// errOutside says that who looks has to enter first.
var errOutside = errors.New("nobody has entered")

// admit finds out who looks, and whether he may.
func (d *dashboard) admit(r *http.Request) (err error) {
	s := sceneOf(r)
	if d.origins.Check(r) != nil {
		return &problem{http.StatusForbidden, "Refused",
			"This request comes from another site. Go back to the dashboard and try again there.", false}
	}
	if s.page.role == "" {
		return nil
	}
	v, err := d.visit(r)
	if errors.Is(err, metering.ErrNotFound) {
		return errOutside
	}
	if err != nil {
		return err
	}
	if s.visitor = v; !v.May(s.page.role) {
		return &problem{http.StatusForbidden, "Not allowed", "This needs the role " + string(s.page.role) +
			". An owner of the account can change roles on the page of members.", false}
	}
	return nil
}

// answer has a page do what it does. What changes something is a row of the log before.
func (d *dashboard) answer(w http.ResponseWriter, r *http.Request) error {
	s := sceneOf(r)
	p := s.page
	if p.do == nil {
		return d.display(w, r)
	}
	r.Body = http.MaxBytesReader(w, r.Body, max(p.body, maxForm))
	if p.body == 0 {
		if r.ParseForm() != nil {
			return &problem{http.StatusBadRequest, "Form not understood",
				"The form could not be read. Go back and send it again.", false}
		}
		s.form = &form{values: r.PostForm, known: slices.Concat(p.fields, p.quiet)}
	}
	var to string
	do := func(ctx context.Context) (err error) {
		if slices.Contains(p.quiet, "sure") && r.PostForm.Get("sure") != "yes" { // the box beside the button
			return &metering.FieldError{Field: "sure", Reason: "confirm that you know what cannot be undone"}
		}
		to, err = p.do(r.WithContext(ctx))
		return err
	}
	var err error
	if p.act == "" || s.visitor == nil {
		err = do(r.Context())
	} else {
		err = metering.Acting(r.Context(), d.Store, d.deed(r), do)
	}
	if s.form.refused(err) {
		s.status = http.StatusUnprocessableEntity
		return d.display(w, r)
	}
	if err == nil {
		see(w, to, view.If(p.says != "", noticeWord(p.act)))
	}
	return err
}

func (d *dashboard) display(w http.ResponseWriter, r *http.Request) error {
	p := sceneOf(r).page
	data, err := p.show(r)
	if err != nil {
		return err
	}
	return d.render(w, r, p.template, data)
}

// pathNames are the names of the parts of a path that differ.
var pathNames = regexp.MustCompile(`\{(\w+)`)

// deed is the row of the log for a form that was sent.
func (d *dashboard) deed(r *http.Request) metering.Act {
	s := sceneOf(r)
	var ids, told []string
	for _, name := range pathNames.FindAllStringSubmatch(s.page.pattern, -1) {
		ids = append(ids, r.PathValue(name[1]))
	}
	for _, name := range s.page.fields {
		if value := strings.Join(r.PostForm[name], ","); value != "" {
			told = append(told, name+"="+value)
		}
	}
	return metering.Act{Account: s.visitor.Account.ID, At: d.now(), Who: s.visitor.Email, From: s.from.String(),
		What: s.page.act, Subject: strings.Join(ids, " "), Detail: strings.Join(told, " ")}
}

// fail shows what went wrong. Of what is not the visitor's own fault the page says little, and the log all.
func (d *dashboard) fail(w http.ResponseWriter, r *http.Request, err error) {
	s := sceneOf(r)
	p, known := errors.AsType[*problem](err)
	field, isField := errors.AsType[*metering.FieldError](err)
	switch {
	case known:
	case errors.Is(err, errOutside):
		see(w, enterPath(r), "")
		return
	case isField:
		p = &problem{http.StatusUnprocessableEntity, "Not possible",
			diag.Upper(field.Field) + " " + field.Reason + ".", false}
	case errors.Is(err, metering.ErrNotFound):
		p = &problem{http.StatusNotFound, "Page not found", "There is nothing at this address, or no longer.", false}
	case errors.Is(err, metering.ErrUnavailable):
		p = &problem{http.StatusServiceUnavailable, "Not available",
			"The server cannot read or write what it keeps. Try again in a moment.", false}
	case r.Context().Err() != nil:
		return // the browser has gone
	default:
		p = &problem{http.StatusInternalServerError, "Something went wrong",
			"The server could not do this. Try again; if it happens again, tell who runs the server when it did.", false}
	}
	if p.status >= http.StatusInternalServerError {
		d.Log.Error("dashboard", "page", s.page.pattern, "error", err)
	}
	s.status, s.title = p.status, p.Heading
	if err := d.render(w, r, "error", p); err != nil {
		d.Log.Error("dashboard", "page", "error", "error", err)
		http.Error(w, p.Heading, p.status)
	}
}

// together does independent things at once, and joins their errors.
func together(do ...func() error) error {
	faults := make([]error, len(do))
	var all sync.WaitGroup
	for i, f := range do {
		all.Go(func() { faults[i] = f() })
	}
	all.Wait()
	return errors.Join(faults...)
}
