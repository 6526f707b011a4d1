package dashboard

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"github.com/diagkit/diagkit/diag/kit"
	"html/template"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/view"
	"github.com/diagkit/diagkit/diag/view/render"
	"github.com/diagkit/diagkit/httpapi"
	"github.com/diagkit/diagkit/httpapi/internal/sample"
	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/member"
)

// actor is the part of the server whose key the dashboard uses to run members' requests.
const actor = "dashboard"

// formCopies is how many times its size a form takes in memory: it is read, its texts are parsed, a file is written
// in Base64, and all of it as JSON.
const formCopies = 8

// formLimit bounds the form of an operation, in bytes: what its request may have, which browsers write with up to three
// characters for each byte where the form carries no file, and the names of the fields.
func (op operation) formLimit(r *http.Request) int64 {
	if media, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); media == "multipart/form-data" {
		return op.MaxBody() + maxForm
	}
	return 3*op.MaxBody() + maxForm
}

// reserve waits for room for the form of a visitor. Release gives it back.
func (d *dashboard) reserve(r *http.Request, size int64) (release func(), err error) {
	release, err = d.API.ReserveMemory(r.Context(), sessionOf(r).Account.ID, size)
	if _, busy := errors.AsType[*httpapi.Problem](err); busy {
		stateOf(r).header.Set("Retry-After", "1")
		return nil, &problem{http.StatusServiceUnavailable, "Server busy",
			"The server is busy. Go back and submit the form again.", false}
	}
	return release, err
}

// readForm reads the form of an operation once there is room for it, and returns the request. Release gives the room
// back.
func (d *dashboard) readForm(r *http.Request, op operation) (fields []byte, release func(), err error) {
	limit := op.formLimit(r)
	if r.ContentLength > limit {
		return nil, nil, &problem{http.StatusRequestEntityTooLarge, "Form too large", fmt.Sprintf(
			"A request of this operation can have up to %d KiB. Go back and submit a shorter one.", op.MaxBody()>>10), false}
	}
	size := r.ContentLength
	if size < 0 {
		size = limit
	}
	if release, err = d.reserve(r, formCopies*size); err != nil {
		return nil, nil, err
	}
	defer func() {
		if err != nil {
			release()
		}
	}()
	const inMemory = 1 << 20
	r.Body = http.MaxBytesReader(nil, r.Body, limit)
	if err := r.ParseForm(); err != nil { // which ParseMultipartForm ignores
		return nil, release, formProblem(err)
	}
	if err := r.ParseMultipartForm(inMemory); err != nil && !errors.Is(err, http.ErrNotMultipart) {
		return nil, release, formProblem(err)
	}
	if r.MultipartForm != nil {
		defer r.MultipartForm.RemoveAll()
	}
	fields, err = op.fields(r)
	return fields, release, err
}

// A run is the stored result of a member's request: of an operation, or of all checks of a domain.
type run struct {
	Operation string              `json:"operation,omitempty"`
	Domain    string              `json:"domain,omitempty"`
	Path      string              `json:"path,omitempty"`   // of the page that a check of a domain was started on
	Fields    json.RawMessage     `json:"fields,omitempty"` // of the request; absent where they are too long to keep
	At        time.Time           `json:"at"`
	Took      time.Duration       `json:"took"`
	RequestID string              `json:"request_id,omitempty"`
	Credits   int64               `json:"credits"`
	Remaining int64               `json:"remaining"`
	Media     string              `json:"media,omitempty"`
	Reply     []byte              `json:"reply,omitempty"`
	View      *view.View          `json:"view,omitempty"` // of a domain: that of an operation is made of its reply
	Foot      string              `json:"foot,omitempty"`
	Error     string              `json:"error,omitempty"`
	Faults    []httpapi.Violation `json:"faults,omitempty"`
}

// call runs an operation as a key. Errors are recorded in the run.
func (d *dashboard) call(ctx context.Context, key metering.KeyID, op operation, r *run) *run {
	answer, err := d.API.Ask(ctx, key, op.Endpoint, r.Fields)
	if err == nil {
		r.RequestID, r.Credits, r.Remaining = answer.RequestID, answer.Credits, answer.Remaining
		r.Media, r.Reply = answer.MediaType, answer.Body
	}
	return d.finish(r, err)
}

// finish records in a run how long it took, and its error, if any.
func (d *dashboard) finish(r *run, err error) *run {
	r.Took = d.now().Sub(r.At)
	r.Error, r.Faults = d.failureText(err)
	return r
}

// reportView returns the human-readable form of the answer; nil for an image.
func (d *dashboard) reportView(r *run) (*view.View, error) {
	if r.View != nil {
		r.View.Foot = r.Foot
		return r.View, nil
	}
	op, known := d.operation(r.Operation)
	if !known || r.Reply == nil || r.IsImage() {
		return nil, nil
	}
	report, err := op.Decode(r.Reply)
	if err != nil {
		return nil, err
	}
	return httpapi.View(report), nil
}

// IsImage reports whether the reply is an image.
func (r *run) IsImage() bool { return strings.HasPrefix(r.Media, "image/") }

// failureText explains to the member why there is no answer.
func (d *dashboard) failureText(err error) (string, []httpapi.Violation) {
	if err == nil {
		return "", nil
	}
	if faults, ok := errors.AsType[*httpapi.ViolationsError](err); ok {
		return "Some fields are invalid. Nothing was charged.", faults.Violations
	}
	if refused, ok := errors.AsType[*metering.RefusedError](err); ok && refused.Reason == metering.RevokedKey {
		return "The service key of the dashboard was revoked. Nothing was charged.", nil
	}
	if p, ok := errors.AsType[*httpapi.Problem](err); ok {
		return p.Message + " Nothing was charged.", nil
	}
	if unavailable, ok := errors.AsType[*diag.UnavailableError](err); ok {
		return "There was no usable answer from " + unavailable.Asked + ". Nothing was charged.", nil
	}
	d.Log.Error("dashboard", "page", "an operation", "error", err)
	return "Something went wrong on the server. Nothing was charged.", nil
}

// storeRun stores a run; what is too long is omitted, the request first.
func (d *dashboard) storeRun(ctx context.Context, account metering.AccountID, token string, r *run) error {
	fits, err := d.storeResult(ctx, account, token, r)
	if !fits && err == nil {
		r.Fields = nil
		fits, err = d.storeResult(ctx, account, token, r)
	}
	if !fits && err == nil {
		r.Reply, r.Error = nil, "The response is too long for this page. Call the API instead."
		_, err = d.storeResult(ctx, account, token, r)
	}
	return err
}

// An operationPage is the form of an operation, and its reply.
type operationPage struct {
	outcome
	Op     operation
	Inputs []input
	Others []string // faults of no field
}

// A result is a run as its page shows it.
type result struct {
	*run
	op     operation
	Token  string // by which it is kept
	Shares []shareForm
	Link   string     // to the share that was just made; empty without one
	Badge  *badgeCode // of that share; nil without one
	Report template.HTML
}

// maxShownBytes is the length up to which requests and replies are written out on a page, and maxSampleBytes that of
// requests which are written out in several languages.
const (
	maxShownBytes  = 24 << 10
	maxSampleBytes = 2 << 10
)

// JSON is the reply in lines, or empty where it is too long to read.
func (r *result) JSON() string {
	var b bytes.Buffer
	if len(r.Reply) > maxShownBytes || r.IsImage() || json.Indent(&b, r.Reply, "", "  ") != nil {
		return ""
	}
	return printableLines(b.String())
}

// printableLines is a text of several lines in which nothing turns the direction of writing or hides. Tabs indent them.
func printableLines(text string) string {
	return strings.Join(kit.Map(strings.Split(text, "\n"), func(line string) string {
		code := strings.TrimLeft(line, "\t")
		return line[:len(line)-len(code)] + render.Printable(code)
	}), "\n")
}

// Samples are programs with the same request, and the call of the library, which has long texts as variables. Of a
// request that is too long for several there is the command alone, unless that is too long, too.
func (r *result) Samples() (list []sample.Sample, err error) {
	if r.Fields == nil || len(r.Fields) > maxShownBytes || r.Faults != nil {
		return nil, nil
	}
	if list, err = sample.Of(r.op.Endpoint, r.Fields); err != nil {
		return nil, err
	}
	if len(r.Fields) > maxSampleBytes {
		list = list[:1]
	}
	pkg, call, err := r.op.GoCall(r.Fields)
	if call != "" {
		list = append(list, sample.Sample{Title: "Library", Text: fmt.Sprintf("import %q\n\n%s", pkg, call)})
	}
	for i := range list {
		list[i].Text = printableLines(list[i].Text)
	}
	return list, err
}

// showPlayground lists all operations.
func (d *dashboard) showPlayground(*http.Request) (any, error) {
	return struct {
		Families   []string
		Operations []operation
	}{families, kit.Map(d.endpoints, func(ep httpapi.Endpoint) operation { return operation{ep} })}, nil
}

// showOperation shows the form of an operation: empty, with the values of the query, with the example, or with those
// of a kept run and its reply.
func (d *dashboard) showOperation(r *http.Request) (any, error) {
	op, ok := d.operation(r.PathValue("operation"))
	if !ok {
		return nil, metering.ErrNotFound
	}
	stateOf(r).title = op.Name()
	shown, fields, faults := &operationPage{Op: op}, []byte("{}"), []httpapi.Violation(nil)
	var err error
	shown.outcome, err = d.loadOutcome(r, op, func(k *run) bool { return k.Operation == op.Name() })
	switch query := r.URL.Query(); {
	case err != nil:
		return nil, err
	case shown.Result != nil:
		fields, faults = shown.Result.Fields, shown.Result.Faults
	case shown.Running:
	case query.Has("example"):
		fields = op.Example()
	default:
		r.PostForm = query
		if fields, err = op.fields(r); err != nil {
			return nil, err
		}
	}
	shown.Inputs, shown.Others = op.inputs(fields, faults)
	return shown, nil
}

// loadRun reads a run of the visitor's account. Its page reloads while it is not available yet.
func (d *dashboard) loadRun(r *http.Request, token string) (*run, error) {
	header := stateOf(r).header
	header.Set("Referrer-Policy", "no-referrer")
	loaded := &run{}
	err := d.loadResult(r.Context(), sessionOf(r).Account.ID, token, loaded)
	if errors.Is(err, errRunning) {
		header.Set("Refresh", "2")
	}
	return loaded, err
}

// An outcome is the result of a run, on the page of the form that started it.
type outcome struct {
	Token   string // of the next run
	Running bool
	Result  *result // of the run that the address of the page names
}

// loadOutcome returns the run that the address of a page names, if it belongs there.
func (d *dashboard) loadOutcome(r *http.Request, op operation, belongs func(*run) bool) (outcome, error) {
	o, token := outcome{Token: member.NewToken()}, r.URL.Query().Get("result")
	if token == "" {
		return o, nil
	}
	loaded, err := d.loadRun(r, token)
	switch {
	case errors.Is(err, errRunning):
		o.Running = true
		return o, nil
	case err == nil && !belongs(loaded):
		err = metering.ErrNotFound
	}
	if err == nil {
		o.Result, err = d.newResult(loaded, op, token)
	}
	if err == nil {
		o.Result.Link, o.Result.Badge, err = d.sharedLink(r)
	}
	return o, err
}

// newResult is a run as its page shows it.
func (d *dashboard) newResult(loaded *run, op operation, token string) (*result, error) {
	shown := &result{run: loaded, op: op, Token: token}
	v, err := d.reportView(loaded)
	if err != nil || v == nil {
		return shown, err
	}
	o := render.HTMLOptions{ID: "result-", Docs: findingDocs}
	if loaded.Operation != "" {
		o.Title = op.Name()
	}
	shown.Shares = shareForms(loaded, v)
	shown.Report, err = viewAsHTML(v, o)
	return shown, err
}

// findingDocs is the folder of the pages of findings in the documentation.
const findingDocs = "/docs/findings/"

// viewAsHTML is a view as part of a page, below the heading of that.
func viewAsHTML(v *view.View, o render.HTMLOptions) (template.HTML, error) {
	var b strings.Builder
	o.Level = 2
	err := render.HTML(&b, v, o)
	return template.HTML(b.String()), err
}

// runOperation runs an operation once for each token, and leads to the result.
func (d *dashboard) runOperation(r *http.Request) (string, error) {
	op, ok := d.operation(r.PathValue("operation"))
	if !ok {
		return "", metering.ErrNotFound
	}
	fields, release, err := d.readForm(r, op)
	if err != nil {
		return "", err
	}
	defer release()
	to, err := d.runOnce(r, op.Page(), func(ctx context.Context, account metering.AccountID) *run {
		request := &run{Operation: op.Name(), Fields: fields, At: d.now()}
		key, err := d.admin().ServiceKey(ctx, account, actor)
		if err != nil {
			return d.finish(request, err)
		}
		return d.call(ctx, key.ID, op, request)
	})
	return to + "#result", err
}

// runOnce performs a form's action, unless its token was taken, and leads to the page of the result. The action
// completes even if the browser leaves: one that sends a form twice leaves the first time.
func (d *dashboard) runOnce(
	r *http.Request, path string, do func(context.Context, metering.AccountID) *run,
) (string, error) {
	account, token := sessionOf(r).Account.ID, r.PostFormValue("token")
	first, err := d.claimToken(r.Context(), account, token)
	if first {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), maxRunTime)
		defer cancel()
		err = d.storeRun(ctx, account, token, do(ctx, account))
	}
	return path + "?" + url.Values{"result": {token}}.Encode(), err
}

// serveReply sends the reply of a kept run unchanged: an image for display, JSON as a file.
func (d *dashboard) serveReply(r *http.Request) (any, error) {
	loaded, err := d.loadRun(r, r.PathValue("token"))
	if err == nil && loaded.Reply == nil {
		err = metering.ErrNotFound
	}
	if err != nil {
		return nil, err
	}
	stateOf(r).header.Set("Content-Security-Policy", "default-src 'none'; sandbox; frame-ancestors 'none'")
	return file{media: loaded.Media, name: view.TextIf(!loaded.IsImage(), "reply.json"), data: loaded.Reply}, nil
}
