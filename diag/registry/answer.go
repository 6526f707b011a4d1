package registry

import (
	"regexp"
	"strings"

	"github.com/diagkit/diagkit/diag"
)

// An outcome says what an answer amounts to.
type outcome string

// The outcomes. Only the first three are knowledge.
const (
	found      outcome = "found"
	absent     outcome = "absent"     // the registry says that there is no such registration
	reserved   outcome = "reserved"   // likewise, and that there will be none
	limited    outcome = "limited"    // the server refuses to answer us, or now
	unreadable outcome = "unreadable" // it says something else
	unanswered outcome = "unanswered" // it says nothing
)

// conclusive reports whether the outcome is knowledge.
func (o outcome) conclusive() bool { return o == found || o == absent || o == reserved }

// maxPhrase is how long a line may be that says that there is nothing, or that the limit is reached. The
// terms of use, which have all these words as well, have longer ones.
const maxPhrase = 200

// The phrases by which servers say what is no record. They are looked for in each line, in lower case,
// without marks of comments before it.
var (
	absentPhrase = regexp.MustCompile(`^(?:` +
		`no match|nincs talalat|no matching|no matches|not found|no found|no data found|no data was found|no entries found|` +
		`no object found|no objects? found|no such domain|no information available about|nothing found|` +
		`no record found|no records? (?:found|matching)|no domain|` +
		`error:\s?10[13]|object does not exist|object not found|the queried object does not exist|` +
		`the domain has not been registered|this domain (?:name )?has not been registered|` +
		`the domain name is not registered|(?:the |this )?domain (?:name )?is not registered|` +
		`domain (?:name )?(?:not found|not registered|unknown|does not exist|is available)|` +
		`domain status: (?:available|free|no object found)|status: (?:available|free)$|` +
		`this query returned 0 objects|requested domain (?:does not exist|was not found)|` +
		`the requested domain was not found|invalid query or domain name not known|` +
		`unallocated resource|available$)|` +
		`^domain \S+ (?:is available for|not found|does not exist|is free|is not registered)|` +
		`^domain "?\S+"? not found|^\S+ is (?:free|available)\.?$|^\S+: (?:not found|no match)|` +
		`^(?:el dominio|domain) \S+ (?:no se encuentra|no existe)|no se encontro el objeto|` +
		`^\S+ (?:not found|no match)\.?$|: nothing found for this query|^nothing found for this query|` +
		`^sorry, (?:but )?domain: "?\S+"?,? not found`)
	reservedPhrase = regexp.MustCompile(`^not available for (?:second level )?registration|^reserved (?:by|domain|name)|` +
		`^(?:this |the )?(?:domain|name|domain name) (?:is |has been )?reserved|^reserved by registry|is reserved\.?$|` +
		`cannot be registered|can not be registered|^blocked by|this name is not available for registration`)
	limitedPhrase = regexp.MustCompile(`limit (?:was |has been |is )?exceeded|limit reached|exceeded (?:the|your|our) |` +
		`exceeded allowed|have exceeded|has exceeded|quota exceeded|queries exceeded|` +
		`too many (?:queries|requests|connections)|` +
		`query rate of|blacklisted:|you (?:are|have been) (?:blocked|banned|blacklisted|denied)|access (?:is )?denied|` +
		`access to .{0,40}denied|permission denied|connection refused|request (?:is )?denied|` +
		`(?:ip|host|address|you) (?:\S+ )?(?:is|are) not (?:authori[sz]ed|allowed) to (?:use|query|connect)|` +
		`temporarily (?:unavailable|denied|blocked)|try again (?:later|after|in)|please wait|error:\s?20[1-9]|` +
		`excessive querying|lookup quota|denied for (?:your )?(?:ip|host)|maximum (?:daily )?(?:connection|query|number)|` +
		`^service (?:is )?(?:not available|unavailable)|server (?:is )?(?:too )?busy|^wait \d+`)
)

// judge says what a WHOIS answer about a domain amounts to. A record of another domain is none: asked
// for a name, IANA has that of the top-level domain.
func (r *record) judge(text string) outcome {
	if r.domain != "" && !r.mine {
		return judgeText(text)
	}
	if r.substantial() {
		return found
	}
	switch o := judgeText(text); {
	case o == unreadable && r.freeStatus:
		return absent
	case o == unreadable && r.domain != "" && r.hasStatus:
		return found
	default:
		return o
	}
}

// substantial reports whether the answer says something that only a registration has.
func (r *record) substantial() bool {
	return !r.created.time.IsZero() || !r.expires.time.IsZero() || len(r.nameservers) > 0 || r.registrar.Name != "" ||
		r.handle != ""
}

// judgeText says what a text without a record amounts to. That a limit is reached goes before all else,
// because taking that for "not registered" would be the worst of all mistakes.
func judgeText(text string) outcome {
	result := unreadable
	if strings.TrimSpace(text) == "" {
		return unanswered
	}
	for line := range someLines(strings.ToLower(text)) {
		line = strings.TrimLeft(strings.TrimSpace(line), "%#*>;- ")
		switch {
		case len(line) > maxPhrase:
		case limitedPhrase.MatchString(line):
			return limited
		case reservedPhrase.MatchString(line):
			result = reserved
		case result == unreadable && absentPhrase.MatchString(line):
			result = absent
		}
	}
	return result
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
