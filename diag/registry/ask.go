package registry

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/fetch"
	"github.com/diagkit/diagkit/diag/kit"
)

// maxRedirects bounds the redirections of an RDAP service, as from one regional registry to another
// (RFC 7480 section 5.2).
const maxRedirects = 5

type rdapAnswer struct {
	outcome outcome
	url     string   // that answered, or was asked last
	passed  []string // URLs that redirected to it
	object  *object  // if found
	raw     string   // the body
	reason  string   // why it is not conclusive
	ours    error    // if we failed and not the service: wraps [diag.ErrUnavailable]
	doubt   bool     // it is absent by a status that a web server gives for any page
}

// askRDAP asks for an object, such as "domain/example.com", of the services in turn until one gives a
// conclusive answer (RFC 9224 section 3).
func askRDAP(ctx context.Context, env *diag.Env, services []string, path, class string) (rdapAnswer, error) {
	a := rdapAnswer{outcome: unanswered}
	for _, base := range services {
		next, err := askURL(ctx, env, base+path, class)
		if err != nil {
			return a, err
		}
		if a.url == "" || next.outcome != unanswered {
			a = next
		}
		if a.outcome.conclusive() {
			break
		}
	}
	return a, nil
}

// askURL fetches an answer. The error is that of the context.
func askURL(ctx context.Context, env *diag.Env, url, class string) (rdapAnswer, error) {
	u, err := diag.ParseURL(url)
	if err != nil {
		return rdapAnswer{outcome: unanswered, url: url, reason: "the URL is not one that can be asked"}, nil
	}
	limited, cancel := diag.Within(ctx, rdapTimeout)
	defer cancel()
	r, err := fetch.Do(limited, env, fetch.Request{
		// RFC 7480 section 4.2. Some servers know the general type only.
		URL: u, Header: http.Header{"Accept": {"application/rdap+json, application/json;q=0.9, */*;q=0.1"}},
		MaxRedirects: maxRedirects, MaxBytes: maxAnswer, Timeout: rdapTimeout,
	})
	switch {
	case ctx.Err() != nil:
		return rdapAnswer{}, ctx.Err()
	case errors.Is(err, context.DeadlineExceeded):
		return rdapAnswer{outcome: unanswered, url: u.String(), reason: "it did not answer in time"}, nil
	case err != nil:
		return rdapAnswer{outcome: unanswered, url: u.String(), reason: diag.Reason(err)}, nil
	}
	return readRDAP(r, class), nil
}

// readRDAP reads an answer. Status 404 says that there is no such object (RFC 7480 section 5.3), and 429
// that we ask too often (section 5.5).
func readRDAP(r *fetch.Result, class string) rdapAnswer {
	a := rdapAnswer{outcome: unreadable, url: r.URL.String(), raw: strings.ToValidUTF8(string(r.Body), "\uFFFD")}
	for _, h := range r.Hops[:max(0, len(r.Hops)-1)] {
		a.passed = append(a.passed, h.URL)
	}
	head := r.Final()
	if r.Err != nil || head == nil {
		a.outcome, a.reason, a.raw = unanswered, "no answer came", ""
		if r.Err != nil {
			a.reason, a.ours = r.Err.Message, r.Err.Unavailable()
		}
		return a
	}
	status := head.StatusCode
	switch {
	case status == http.StatusNotFound:
		a.outcome = absent
		a.doubt = !json.Valid(r.Body) && strings.TrimSpace(a.raw) != ""
	case status == http.StatusTooManyRequests || status == http.StatusForbidden || status == http.StatusUnauthorized ||
		status == http.StatusServiceUnavailable && head.Header.Get("Retry-After") != "":
		a.outcome, a.reason = limited, refusal(status, head.Header.Get("Retry-After"))
	case status != http.StatusOK:
		a.reason = fmt.Sprintf("it answered with status %d", status)
	case r.Truncated:
		a.reason = "its answer is too long"
	default:
		a.read(r.Body, class)
	}
	return a
}

func refusal(status int, retryAfter string) string {
	text := fmt.Sprintf("it refused with status %d", status)
	if retryAfter = oneLine(retryAfter); retryAfter != "" {
		text += ", to be asked again after " + clip(retryAfter, 40)
		if strings.Trim(retryAfter, "0123456789") == "" {
			text += " seconds"
		}
	}
	return text
}

func (a *rdapAnswer) read(body []byte, class string) {
	o, err := parseObject(body)
	switch {
	case err != nil:
		a.reason = "its answer is not JSON"
	case o.errorCode == http.StatusNotFound:
		a.outcome = absent
	case o.errorCode == http.StatusTooManyRequests || o.errorCode == http.StatusForbidden:
		a.outcome, a.reason = limited, refusal(int(o.errorCode), "")
	case o.errorCode != 0:
		a.reason = fmt.Sprintf("it answered with the error %d", o.errorCode)
	case o.class != class && o.class != "":
		a.reason = "its answer is about something else"
	case o.empty():
		a.reason = "its answer says nothing"
	default:
		a.outcome, a.object = found, o
	}
}

// empty reports whether an answer has nothing to identify its object by.
func (o *object) empty() bool {
	return o.handle == "" && o.name == "" && !o.start.IsValid() && len(o.entities) == 0
}

type outcome string

// The outcomes. Only the first three are knowledge.
const (
	found      outcome = "found"
	absent     outcome = "absent"     // the registry says that there is no such registration
	reserved   outcome = "reserved"   // likewise, and the name cannot be registered
	limited    outcome = "limited"    // the server refuses to answer us, or now
	unreadable outcome = "unreadable" // the answer is something else
	unanswered outcome = "unanswered" // it says nothing
)

func (o outcome) conclusive() bool { return o == found || o == absent || o == reserved }

// maxPhrase is how long a line may be that says that there is nothing, or that the limit is reached. The
// terms of use, which have all these words as well, have longer ones.
const maxPhrase = 200

// The phrases by which servers say what is no record. They are looked for in each line, in lower case,
// without marks of comments before it.
var (
	// anyName matches the name that a line is about, with its quotes or brackets.
	anyName = kit.Regexp(`["'\[]?\b[a-z0-9_-]+(?:\.[a-z0-9_-]+)+["'\]]?`)

	absentPhrase = kit.Regexp(`^(?:` +
		`no match|nincs talalat|no matching|no matches|not found|no found|no data (?:was )?found|no entries found|` +
		`no objects? found|no such domain|(?:there is )?no information available (?:about|on)|nothing found|` +
		`no records? (?:found|matching)|no domain|we do not have an entry|error:\s?(?:10[13]|no entries)|` +
		`no_se_encontro_el_objeto|this query returned 0 objects|unallocated resource|` +
		`invalid query or domain name not known|domain status: (?:available|free|no object found)|` +
		`status: (?:available|free)$|` +
		`(?:no data|no records?|not registered|not registered - .*|available)[.!]?$|` +
		// "Sorry, the domain name example.com" and its predicate
		`(?:(?:sorry|but|the|this|el|requested|queried|domain|dominio|name|object|data|x\.y)[ .,:*-]+)+(?:` +
		`(?:(?:is|was|has|does|do) )?not (?:yet )?(?:been )?(?:found|registered|known|exist)|` +
		`no (?:existe|se encuentra|match|entries found)|unknown|(?:is )?available for (?:registration|purchase)|` +
		`is not available in our (?:whois )?database|0 results|(?:(?:is|are) )?(?:available|free|disponible)[.!]?$))|` +
		`no se encontro el objeto|: nothing found for this query`)
	reservedPhrase = kit.Regexp(
		`^reserved\.?$|in stop-list|prohibited from registration|^not available for (?:second level )?registration|` +
			`^reserved (?:by|domain|name)|` +
			`^(?:this |the )?(?:domain|name|domain name) (?:is |has been )?reserved|^reserved by registry|is reserved\.?$|` +
			`cannot be registered|can not be registered|^blocked by|this name is not available for registration`,
	)
	// blockedPhrase says likewise that a trademark or the registry itself blocks the name, with more than fits a
	// phrase.
	blockedPhrase = kit.Regexp(
		`^(?:the )?registration of this (?:domain|name|domain name) is (?:restricted|blocked|prohibited)` +
			`(?:,? (?:as|because|since|due|under|by)\b|[.,]|$)|` +
			`^this (?:domain|name|domain name) (?:is |has been )?(?:currently )?(?:blocked|protected) (?:by|under|through|from)\b|` +
			`^this (?:platinum|premium) (?:domain|name)\b`,
	)
	limitedPhrase = kit.Regexp(
		`(?:limit|quota|query rate|queries|consultas) (?:\S+ ){0,5}?(?:exceeded|reached|excedidas)|` +
			`reached (?:the|your|our) (?:query )?limit|exceeded (?:the|your|our) |exceeded allowed|have exceeded|has exceeded|` +
			`is too frequent|interval is too short|still in grace period|excessive querying, grace|` +
			`address used more than|^denied$|requests .{0,30}not permitted|` +
			`requests from (?:this|your) \S+ (?:is|are) (?:limited|restricted)|` +
			`your ip (?:address )?(?:is|has been) (?:blocked|restricted)|is not authori[sz]ed$|` +
			`maximum number of (?:lookups|queries)|` +
			`too many (?:queries|requests|connections)|` +
			`query rate of|blacklisted:|you (?:are|have been) (?:blocked|banned|blacklisted|denied)|access (?:is )?denied|` +
			`access to .{0,40}denied|permission denied|connection refused|request (?:is )?denied|` +
			`(?:ip|host|address|you) (?:\S+ )?(?:is|are) not (?:authori[sz]ed|allowed) to (?:use|query|connect)|` +
			`temporarily (?:unavailable|denied|blocked)|try again (?:later|after|in)|please wait|error:\s?20[1-9]|` +
			`excessive querying|lookup quota|denied for (?:your )?(?:ip|host)|maximum (?:daily )?(?:connection|query|number)|` +
			`^service (?:is )?(?:not available|unavailable)|server (?:is )?(?:too )?busy|^wait \d+`,
	)
)

// judge classifies a WHOIS answer about a domain. A record of another domain does not count: for any name, IANA
// returns that of the top-level domain.
func (r *record) judge(text string) outcome {
	if r.domain != "" && !r.mine {
		return judgeText(text)
	}
	if r.substantial() && !(r.nothing && !r.hasStatus && r.bare()) {
		return found
	}
	switch o := judgeText(text); {
	case o == absent && r.mine && r.hasStatus && !r.freeStatus:
		return unreadable // it has a status, and "nothing found" may be about something else
	case o == unreadable && r.freeStatus:
		return absent
	case o == unreadable && r.reservedStatus && !r.hasStatus:
		return reserved
	case o == unreadable && r.domain != "" && r.hasStatus:
		return found
	default:
		return o
	}
}

// substantial reports whether the answer has fields that only a registration has.
func (r *record) substantial() bool { return !r.bare() || r.registrar.Name != "" }

// bare reports whether the answer has no dates, no name servers and no identifier. An answer that names the registry
// as the registrar, and says that the domain is free, is not one of a registration.
func (r *record) bare() bool {
	return r.created.time.IsZero() && r.expires.time.IsZero() && len(r.nameservers) == 0 && r.handle == ""
}

// judgeText says what a text without a record amounts to. That a limit is reached goes before all else,
// because taking that for "not registered" would be the worst of all mistakes.
func judgeText(text string) outcome {
	result := unreadable
	if strings.TrimSpace(text) == "" {
		return unanswered
	}
	for line := range someLines(strings.ToLower(text)) {
		line = unmarked(line)
		switch {
		case saysReserved(line):
			result = reserved
		case len(line) > maxPhrase:
		case limitedPhrase().MatchString(line):
			return limited
		case result == unreadable && absentPhrase().MatchString(anyName().ReplaceAllLiteralString(line, "x.y")):
			result = absent
		}
	}
	return result
}

// unmarked returns a line without space around it and marks of comments before it.
func unmarked(line string) string { return strings.TrimLeft(strings.TrimSpace(line), "%#*>;- ") }

// saysReserved reports whether a line in lower case says that the domain cannot be registered.
func saysReserved(line string) bool {
	return blockedPhrase().MatchString(line) || len(line) <= maxPhrase && reservedPhrase().MatchString(line) &&
		!limitedPhrase().MatchString(line)
}

// reservedBy returns the line of an answer that says why the domain cannot be registered, or nothing.
func reservedBy(text string) string {
	for line := range someLines(text) {
		if line = unmarked(line); saysReserved(strings.ToLower(line)) {
			return clip(oneLine(line), maxPhrase)
		}
	}
	return ""
}

// referralHost returns the WHOIS server that a referral names: a host, or a URL with the scheme whois
// (RFC 1714). Others, such as web pages and RWhois, cannot be asked.
func referralHost(value string) string {
	value = strings.ToLower(strings.TrimSpace(value))
	if rest, ok := strings.CutPrefix(value, "whois://"); ok {
		value, _, _ = strings.Cut(rest, "/")
	}
	value = strings.TrimSuffix(value, ":43")
	host, err := diag.ParseHost(value)
	if err != nil || strings.ContainsAny(value, ":/") || !strings.Contains(value, ".") {
		return ""
	}
	return host.Name()
}
