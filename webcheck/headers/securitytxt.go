package headers

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/fetch"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/rule"
)

// SecurityTxt describes /.well-known/security.txt, which tells where to report vulnerabilities (RFC 9116).
type SecurityTxt struct {
	URL                string    `json:"url" doc:"where it was asked for"`
	Present            bool      `json:"present" doc:"whether the host has one"`
	Valid              bool      `json:"valid" doc:"whether it meets RFC 9116 and has not expired"`
	Signed             bool      `json:"signed" doc:"whether it has an OpenPGP signature, which was not verified"`
	Contact            []string  `json:"contact" maxitems:"20" doc:"how to report, in the order of preference"`
	Expires            time.Time `json:"expires,omitzero" doc:"when it must no longer be used"`
	Encryption         []string  `json:"encryption" maxitems:"20" doc:"keys for encrypted reports"`
	Acknowledgments    []string  `json:"acknowledgments" maxitems:"20" doc:"pages that thank reporters"`
	Canonical          []string  `json:"canonical" maxitems:"20" doc:"where the file is to be found"`
	Policy             []string  `json:"policy" maxitems:"20" doc:"policies on how vulnerabilities are handled"`
	Hiring             []string  `json:"hiring" maxitems:"20" doc:"pages with open positions"`
	PreferredLanguages []string  `json:"preferred_languages" maxitems:"20" doc:"languages of reports"`
}

// The limits of reading security.txt. Files in use have less than a kilobyte, or a few with a signature.
const (
	maxSecurityTxt = 32 << 10
	maxListed      = 20
	maxListedText  = 500 // bytes of a value
)

// securityURL is where the host that was asked for has its security.txt (RFC 9116 section 3).
func securityURL(u diag.URL) diag.URL {
	origin := "https://" + u.Host().String()
	if u.Scheme() == "https" {
		origin = u.Origin()
	}
	at, err := diag.ParseURL(origin + "/.well-known/security.txt")
	if err != nil {
		return diag.URL{}
	}
	return at
}

func (e *evidence) fetchSecurityTxt(ctx context.Context, env *diag.Env) (err error) {
	at := securityURL(e.req.URL)
	if at.IsZero() {
		return nil
	}
	e.security, err = fetch.Do(ctx, env, fetch.Request{
		URL: at, Header: http.Header{"Accept": {"text/plain, */*;q=0.1"}}, MaxBytes: maxSecurityTxt,
		MaxRedirects: fetch.DefaultRedirects, Timeout: diag.TimeLeft(ctx, probeTimeout), AllowUntrusted: true,
	})
	return err
}

// A securityTxt is the parsed file, with its faults.
type securityTxt struct {
	SecurityTxt
	faults  rule.Failures
	expires int // how many fields there are
}

// readSecurityTxt reads what the host answered; nil if it did not.
func (e *evidence) readSecurityTxt() *securityTxt {
	r := e.security
	if r == nil || silent(r) {
		return nil
	}
	s := &securityTxt{SecurityTxt: SecurityTxt{
		URL: securityURL(e.req.URL).String(), Contact: []string{}, Encryption: []string{}, Acknowledgments: []string{},
		Canonical: []string{}, Policy: []string{}, Hiring: []string{}, PreferredLanguages: []string{},
	}}
	final := r.Final()
	if r.Err != nil || final == nil || final.StatusCode != http.StatusOK || isHTML(r.Body, final) {
		return s
	}
	body, signed := unsigned(r.Body)
	s.Signed = signed
	s.read(body)
	s.Present = len(s.Contact) > 0 || s.expires > 0 || len(s.Policy) > 0
	if !s.Present { // any other text, as of a server that answers all requests with 200
		return s
	}
	if kind := mediaTypeOf(final); kind != "text/plain" {
		s.fault("Content-Type", "It comes as %s, not as text/plain.", orNothing(kind))
	}
	if len(s.Contact) == 0 {
		s.fault("Contact", "It has no Contact, so it does not say where to report.")
	}
	switch {
	case s.expires == 0:
		s.fault("Expires", "It has no Expires, which is required.")
	case s.expires > 1:
		s.fault("Expires", "It has %d Expires fields, and there must be one.", s.expires)
	}
	if r.Truncated {
		s.fault("", "It is longer than %d KiB; the rest was not read.", maxSecurityTxt>>10)
	}
	s.Valid = len(s.faults) == 0 && s.Expires.After(e.now)
	return s
}

// isHTML reports whether an answer is a page, as many servers have for whatever does not exist.
func isHTML(body []byte, h *fetch.Hop) bool {
	kind := mediaTypeOf(h)
	return strings.Contains(kind, "html") || bytes.HasPrefix(bytes.TrimSpace(body), []byte("<"))
}

func orNothing(kind string) string {
	if kind == "" {
		return "nothing in particular"
	}
	return kind
}

// unsigned returns the text within an OpenPGP cleartext signature, if there is one (RFC 9580 section 7).
func unsigned(body []byte) (text string, signed bool) {
	text = strings.ReplaceAll(string(body), "\r\n", "\n")
	text = strings.TrimPrefix(text, "\uFEFF")
	_, rest, ok := strings.Cut(text, "-----BEGIN PGP SIGNED MESSAGE-----\n")
	if !ok {
		return text, false
	}
	_, rest, _ = strings.Cut(rest, "\n\n") // the header of the message, which names the hash
	rest, _, _ = strings.Cut(rest, "\n-----BEGIN PGP SIGNATURE-----")
	return strings.ReplaceAll("\n"+rest, "\n- ", "\n")[1:], true
}

// read reads the fields of the file (RFC 9116 section 4).
func (s *securityTxt) read(body string) {
	languages := 0
	for i, line := range strings.Split(body, "\n") {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		name, value, ok := strings.Cut(line, ":")
		value = strings.TrimSpace(value)
		if !ok || strings.ContainsAny(name, " \t/<>@") || value == "" {
			s.fault("", "Line %d is not a field: %s.", i+1, phrase.Quote(text(line)))
			continue
		}
		switch strings.ToLower(name) {
		case "contact":
			s.Contact = s.addURI(s.Contact, "Contact", value)
		case "expires":
			s.expires++
			s.readExpires(value)
		case "encryption":
			s.Encryption = s.addURI(s.Encryption, "Encryption", value)
		case "acknowledgments":
			s.Acknowledgments = s.addURI(s.Acknowledgments, "Acknowledgments", value)
		case "canonical":
			s.Canonical = s.addURI(s.Canonical, "Canonical", value)
		case "policy":
			s.Policy = s.addURI(s.Policy, "Policy", value)
		case "hiring":
			s.Hiring = s.addURI(s.Hiring, "Hiring", value)
		case "preferred-languages":
			languages++
			for l := range strings.SplitSeq(value, ",") {
				s.PreferredLanguages = add(s.PreferredLanguages, strings.TrimSpace(l))
			}
		}
	}
	if languages > 1 {
		s.fault("Preferred-Languages", "It has %d Preferred-Languages fields, and there must not be more than one.",
			languages)
	}
}

func (s *securityTxt) fault(target, format string, args ...any) {
	if len(s.faults) < maxListed {
		s.faults = append(s.faults, rule.Fail(format, args...).About(target)...)
	}
}

func add(list []string, value string) []string {
	if value != "" && len(list) < maxListed {
		list = append(list, phrase.Clip(value, maxListedText))
	}
	return list
}

// addURI adds the value of a field that must be a URI, and for the web one with https (RFC 9116 section 2.5).
func (s *securityTxt) addURI(list []string, field, value string) []string {
	u, err := url.Parse(value)
	switch {
	case err == nil && u.Scheme == "" && field == "Contact" && strings.Contains(value, "@"):
		address := phrase.Quote(text(value))
		s.fault(field, "%s has %s: an address is written as mailto:%s.", field, address, address)
	case err != nil || u.Scheme == "":
		s.fault(field, "%s has %s, which is not a URI.", field, phrase.Quote(text(value)))
	case strings.EqualFold(u.Scheme, "http"):
		s.fault(field, "%s has %s: URLs of the web must begin with https.", field, phrase.Quote(text(value)))
	}
	return add(list, value)
}

func (s *securityTxt) readExpires(value string) {
	at, err := time.Parse(time.RFC3339, strings.ToUpper(value))
	if err != nil {
		s.fault("Expires", "Expires is %s, not a time such as 2027-01-31T12:00:00Z (RFC 3339).", phrase.Quote(text(value)))
		return
	}
	if s.Expires.IsZero() || at.Before(s.Expires) {
		s.Expires = at.UTC()
	}
}

const securityTxtField = "security.txt"

// The ages of security.txt: it should not be valid for more than a year (RFC 9116 section 2.5.5), and its owner needs
// notice before it is due for renewal.
const (
	longestSecurityTxt = 366 * 24 * time.Hour
	securityTxtNotice  = 14 * 24 * time.Hour
)

// securityTxtRules are about security.txt, which a page may lack.
var securityTxtRules = rule.Rules[*evidence]{{
	Code: "headers.security_txt.unknown", Severity: diag.Info, StateIfFailed: diag.Unknown, Ref: "RFC 9116 section 3",
	Title: "No answer to the request for security.txt", Requirement: "The request for security.txt is answered",
	Advice: "Make the server answer requests for /.well-known/security.txt immediately: with the file, or with 404.",
	When:   func(e *evidence) bool { return e.secure() && e.security != nil },
	Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(silent(e.security), "Whether %s exists is not known: it was not answered in time.",
			securityURL(e.req.URL)).About(securityTxtField)
	},
}, {
	Code: "headers.security_txt.missing", Severity: diag.Info,
	DependsOn: []diag.Code{"headers.security_txt.unknown"}, Ref: "RFC 9116 section 3",
	Title: "No security.txt", Requirement: "A security.txt says where to report vulnerabilities",
	Advice: "Publish /.well-known/security.txt with Contact and Expires, " +
		"so that people who find a vulnerability know where to report it.",
	When: func(e *evidence) bool { // a name that only leads to another one over HTTP may leave HTTPS to that
		return e.security.Final() != nil || strings.EqualFold(e.self.Hostname(), e.req.URL.Host().Name())
	},
	Fails: func(e *evidence) rule.Failures {
		s := e.contacts
		if s.Present {
			return nil
		}
		return rule.Fail("%s has no /.well-known/security.txt: %s.", e.req.URL.Host(), e.securityAnswer()).
			About(securityTxtField)
	},
}, {
	Code: "headers.security_txt.invalid", Severity: diag.Warning,
	DependsOn: []diag.Code{"headers.security_txt.missing"}, Ref: "RFC 9116 section 2.5",
	Title: "security.txt does not meet RFC 9116", Requirement: "security.txt meets RFC 9116",
	Advice: "Write one field in a line, with at least one Contact that is a URI and one Expires, " +
		"and serve the file as text/plain.",
	Fails: func(e *evidence) rule.Failures { return slices.Clone(e.contacts.faults) },
}, {
	Code: "headers.security_txt.expired", Severity: diag.Warning,
	DependsOn: []diag.Code{"headers.security_txt.missing"}, Ref: "RFC 9116 section 2.5.5",
	Title: "security.txt has expired", Requirement: "security.txt has not expired",
	Advice: "Check that the contacts are right, and set Expires to a time less than a year ahead, and automate its " +
		"renewal.",
	When: expires,
	Fails: func(e *evidence) rule.Failures {
		at := e.contacts.Expires
		return rule.FailIf(!at.After(e.now), "security.txt expired on %s: reporters must not use it any more.",
			at.Format(time.DateOnly)).About("Expires")
	},
}, {
	Code: "headers.security_txt.expiring", Severity: diag.Info, DependsOn: []diag.Code{"headers.security_txt.expired"},
	Ref:   "RFC 9116 section 2.5.5",
	Title: "security.txt expires soon", Requirement: "security.txt does not expire soon",
	Advice: "Check that the contacts are right, and set Expires to a time less than a year ahead, and automate its " +
		"renewal.",
	When: expires,
	Fails: func(e *evidence) rule.Failures {
		at := e.contacts.Expires
		f := rule.FailIf(at.Before(e.now.Add(securityTxtNotice)), "security.txt expires on %s.", at.Format(time.DateOnly)).
			About("Expires")
		for i := range f {
			f[i].Due = at
		}
		return f
	},
}, {
	Code: "headers.security_txt.long", Severity: diag.Info, DependsOn: []diag.Code{"headers.security_txt.expired"},
	Ref:   "RFC 9116 section 2.5.5",
	Title: "security.txt expires more than a year ahead", Requirement: "security.txt expires within a year",
	Advice: "Set Expires to a time less than a year ahead, " +
		"so that reporters can trust that the contacts are up to date.",
	When: expires,
	Fails: func(e *evidence) rule.Failures {
		at := e.contacts.Expires
		return rule.FailIf(at.After(e.now.Add(longestSecurityTxt)), "security.txt expires on %s.", at.Format(time.DateOnly)).
			About("Expires")
	},
}, {
	Code: "headers.security_txt.canonical", Severity: diag.Info,
	DependsOn: []diag.Code{"headers.security_txt.missing"}, Ref: "RFC 9116 section 2.5.2",
	Title: "Canonical of security.txt names another URL", Requirement: "Canonical of security.txt names its URL",
	Advice: "Add the URL as another Canonical, or remove it from this host: " +
		"reporters must not trust a file from elsewhere.",
	When: func(e *evidence) bool { return len(e.contacts.Canonical) > 0 },
	Fails: func(e *evidence) rule.Failures {
		s := e.contacts
		at := []string{s.URL, e.security.Final().URL}
		found := slices.ContainsFunc(s.Canonical, func(c string) bool { return slices.Contains(at, c) })
		return rule.FailIf(!found, "The file at %s names %s as its place.", s.URL, phrase.Series(s.Canonical, 3)).
			About("Canonical")
	},
}}

func expires(e *evidence) bool { return !e.contacts.Expires.IsZero() }

// securityAnswer says what was served in place of security.txt.
func (e *evidence) securityAnswer() string {
	switch r := e.security; {
	case r.Err != nil:
		return r.Err.Message
	case r.Final().StatusCode != http.StatusOK:
		return fmt.Sprintf("the server answers %d %s", r.Final().StatusCode, phrase.Quote(r.Final().StatusText))
	case isHTML(r.Body, r.Final()):
		return "the server answers with a page"
	default:
		return "what the server answers has none of its fields"
	}
}
