// Package ui has what all pages of the server are made of: one style sheet, one script, one base layout, and components
// as templates of package html/template. Packages dashboard, pages and letterbox add their own pages to it.
//
// A page is a template of a package, whose data embeds [Layout]:
//
//	t := ui.Templates(funcs, files, "templates/*.html")
//	html, err := ui.Render(t, "keys.html", &pageData{Layout: ui.Layout{Title: "API keys", Home: "/dashboard"}})
//
// A component without content is called with its data, which a function of the same name makes:
//
//	{{template "badge" (badge "good" "active")}}
//
// A component around other markup is opened and closed:
//
//	{{template "card" "Result"}}<p>…</p>{{template "/card"}}
//
// The layout has blocks, which a package may define: title, head, header, nav, notices, contents and footer.
//
// No component needs a script. What one adds, such as the button that copies a block of code, is hidden until the
// script shows it, and stays hidden on pages that load none. No template contains a style or a script, so that the
// Content-Security-Policy can forbid both; see [Policy] and [ScriptPolicy].
//
// The sheet begins with that of package render, whose first rule has the tokens: space, sizes of text, colours for
// light and dark, and states. All other rules use the tokens alone.
package ui

import (
	"bytes"
	"embed"
	"html/template"
	"io/fs"
	"strings"

	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/view/render"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

var (
	//go:embed style.css
	style string
	//go:embed script.js
	script string
	//go:embed icon.svg
	icon string
	//go:embed templates
	files embed.FS
)

// Style returns the style sheet of all pages.
func Style() []byte { return []byte(render.Style + style) }

// Script returns the script of pages that load one: it copies blocks of code, filters lists, and fills in the address
// of the server.
func Script() []byte { return []byte(script) }

// Icon returns the icon, an SVG image.
func Icon() []byte { return []byte(icon) }

const (
	// Policy is the Content-Security-Policy of pages without a script: they load what their server serves with them.
	Policy = "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; " +
		"frame-ancestors 'none'"
	// ScriptPolicy is that of pages that load [Script].
	ScriptPolicy = "default-src 'none'; script-src 'self'; connect-src 'self'; style-src 'self'; img-src 'self'; " +
		"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)

// Layout is what the base layout needs to know of a page. The data of a page embeds it.
type Layout struct {
	Title  string
	Kind   string // its class: wide, docs or narrow
	Home   string // the address that the brand links to
	Style  string // the address of the style sheet
	Icon   string // the address of the icon; may be empty
	Script string // the address of the script; empty on pages without one
	// Body is the page itself. Render sets it.
	Body template.HTML
}

// layout lets Render set the body.
func (l *Layout) layout() *Layout { return l }

// A Page is the data of a page: a struct that embeds [Layout].
type Page interface{ layout() *Layout }

// Templates returns the layout, the components and the templates of a package, with its functions. It panics if one is
// not valid, which is a fault of the program.
func Templates(funcs template.FuncMap, pages fs.FS, patterns ...string) *template.Template {
	t := template.New("").Funcs(functions).Funcs(funcs)
	return template.Must(template.Must(t.ParseFS(files, "templates/*.html")).ParseFS(pages, patterns...))
}

// Render executes the template of a page, and the layout around it.
func Render(t *template.Template, name string, p Page) ([]byte, error) {
	var body, page bytes.Buffer
	if err := t.ExecuteTemplate(&body, name, p); err != nil {
		return nil, err
	}
	p.layout().Body = template.HTML(body.String()) // which its template has escaped
	if err := t.ExecuteTemplate(&page, "layout", p); err != nil {
		return nil, err
	}
	return page.Bytes(), nil
}

// printableLines is a text of several lines, each of which is printable.
func printableLines(text string) string {
	return strings.Join(kit.Map(strings.Split(text, "\n"), render.Printable), "\n")
}

// number writes a number with separators between its thousands.
func number(n any) string { return message.NewPrinter(language.English).Sprint(n) }

// functions are those that make the data of components, and those that all templates need.
var functions = template.FuncMap{
	"heading": func(title string) string { return title }, "reveal": newReveal, "record": newRecord,
	"badge": newBadge, "table": newTable, "tabs": newTabs, "tab": newTab, "chart": newChart, "meter": newMeter,
	"field": newField, "option": newOption, "checkbox": newCheckbox, "confirm": newConfirmation, "select": newSelection,
	"number":    number,
	"printable": render.Printable, "printableLines": printableLines,
}
