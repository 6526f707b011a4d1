package main

import (
	"encoding/base64"
	"fmt"
	"github.com/diagkit/diagkit/diag/kit"
	"io"
	"net/url"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/diagkit/diagkit/httpapi"
)

// maxInput bounds the input from standard input or a file: the largest body of the API.
const maxInput = 10 << 20

// base64Suffix ends the names of fields that hold a file.
const base64Suffix = "_base64"

// fileParam returns the field that takes a file if p, the first of its group, takes the content: a report can be given
// as XML or as the file that contained it. A field that is a file always takes one. An argument for a field named
// text is the text itself.
func fileParam(params []httpapi.Param, p httpapi.Param) (httpapi.Param, bool) {
	if strings.HasSuffix(p.Name, base64Suffix) {
		return p, true
	}
	for _, other := range params {
		if p.Name != "text" && p.OneOf != "" && other.OneOf == p.OneOf && strings.HasSuffix(other.Name, base64Suffix) {
			return other, true
		}
	}
	return httpapi.Param{}, false
}

// protectPEM makes the text of a PEM file acceptable as an argument, though it begins like a flag.
func protectPEM(args []string) []string {
	return kit.Map(args, func(arg string) string {
		if strings.HasPrefix(arg, "-----BEGIN ") { // RFC 7468 section 2
			return "\n" + arg
		}
		return arg
	})
}

// setArgument puts an argument into its field: "-" and the name of a file into the field of its group for files, if it
// has one, and any other text into the first. Fields for certificates and signing requests take the name of a file too.
func (a *app) setArgument(params []httpapi.Param, p httpapi.Param, values map[string]*[]string, text string) error {
	switch { // a variable of a script that is not set
	case text != "" || p.Name == "text": // which may be empty
	case p.Required || p.OneOf != "":
		return usagef("%s: is required", p.Name)
	default:
		return usagef("%s: is empty", p.Name)
	}
	if (p.Name == "pem" || p.Name == "csr") && text != "-" && !strings.Contains(text, "\n") && !isBase64(text) {
		data, err := readFile(text)
		if text = string(data); !utf8.Valid(data) { // DER is as common as PEM
			text = base64.StdEncoding.EncodeToString(data)
		}
		*values[p.Name] = []string{text}
		return err
	}
	file, ok := fileParam(params, p)
	if !ok || text != "-" && file.Name != p.Name && strings.ContainsAny(text, "<:\n") {
		*values[p.Name] = []string{text}
		return nil
	}
	if text != "-" && !(file.Name == p.Name && isBase64(text)) {
		data, err := readFile(text)
		if err != nil {
			return err
		}
		text = base64.StdEncoding.EncodeToString(data)
	}
	*values[file.Name] = []string{text}
	return nil
}

// isBase64 reports whether an argument is Base64 rather than the name of a file: it is longer than names are.
func isBase64(text string) bool { return len(text) > 255 && !strings.ContainsAny(text, ".:\\") }

func readFile(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, usageError{err}
	}
	defer f.Close()
	return readInput(f, name)
}

func readInput(r io.Reader, name string) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxInput+1))
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", name, err)
	}
	if len(data) > maxInput {
		return nil, usagef("%s has more than %d bytes", name, maxInput)
	}
	return data, nil
}

// normalizeInput reduces pasted text to what a field needs: the domain of a URL or of a mail address, without
// surrounding blanks. It reports this on standard error.
func (a *app) normalizeInput(field, text string) string {
	trimmed := strings.TrimSpace(text)
	switch field {
	case "domain", "qname":
	case "ip", "host", "url":
		return trimmed
	default:
		return text
	}
	host := trimmed
	if strings.Contains(host, "://") {
		u, err := url.Parse(host)
		if err != nil {
			return trimmed
		}
		host = u.Hostname()
	} else {
		host, _, _ = strings.Cut(host, "/")
	}
	host = host[strings.IndexByte(host, '@')+1:]
	if host == trimmed || host == "" {
		return trimmed
	}
	fmt.Fprintf(a.stderr, "diag: note: taking %s from %s\n", printable(host), printable(trimmed))
	return host
}
