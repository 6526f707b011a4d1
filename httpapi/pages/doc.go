// Package pages is the documentation that the API server shows in a browser: a guide, a page for each operation with
// what it examines, its fields and all of its findings, and an index of everything.
//
// All of it is made from the table of endpoints, the OpenAPI document and the tables of rules, by html/template: a
// new operation or rule has its place here without another line. A page is made when it is first asked for, and kept
// compressed; it is the same for everybody, so clients may keep it and ask whether it has changed.
//
// The pages work without JavaScript, and ask for nothing from anywhere else: their Content-Security-Policy allows the
// one style sheet and the one script that are served beside them.
//
// [httpapi.Handler] knows nothing of this package, so that programs without pages are built without html/template. Who
// wants them sets
//
//	httpapi.Config{Gate: gate, Pages: pages.Handler(pages.Config{})}
//
// and serves [httpapi.Handler] at "/", or mounts the handler of this package in a mux of its own.
package pages
