package registry

import (
	"strings"

	"github.com/diagkit/diagkit/diag"
)

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

func (o outcome) conclusive() bool { return o == found || o == absent || o == reserved }

// maxPhrase is how long a line may be that says that there is nothing, or that the limit is reached. The
// terms of use, which have all these words as well, have longer ones.
const maxPhrase = 200

// The phrases by which servers say what is no record. They are looked for in each line, in lower case,
// without marks of comments before it.
var (
	// anyName stands for whatever name a line is about, with what it is put between.
	anyName = diag.Regexp(`["'\[]?\b[a-z0-9_-]+(?:\.[a-z0-9_-]+)+["'\]]?`)

	absentPhrase = diag.Regexp(`^(?:` +
		`no match|nincs talalat|no matching|no matches|not found|no found|no data (?:was )?found|no entries found|` +
		`no objects? found|no such domain|(?:there is )?no information available (?:about|on)|nothing found|` +
		`no records? (?:found|matching)|no domain|we do not have an entry|error:\s?(?:10[13]|no entries)|` +
		`no_se_encontro_el_objeto|this query returned 0 objects|unallocated resource|` +
		`invalid query or domain name not known|domain status: (?:available|free|no object found)|status: (?:available|free)$|` +
		`(?:no data|no records?|not registered|not registered - .*|available)[.!]?$|` +
		// "Sorry, the domain name example.com" and what may be said of it
		`(?:(?:sorry|but|the|this|el|requested|queried|domain|dominio|name|object|data|x\.y)[ .,:*-]+)+(?:` +
		`(?:(?:is|was|has|does|do) )?not (?:yet )?(?:been )?(?:found|registered|known|exist)|` +
		`no (?:existe|se encuentra|match|entries found)|unknown|(?:is )?available for (?:registration|purchase)|` +
		`is not available in our (?:whois )?database|0 results|(?:(?:is|are) )?(?:available|free|disponible)[.!]?$))|` +
		`no se encontro el objeto|: nothing found for this query`)
	reservedPhrase = diag.Regexp(`^reserved\.?$|in stop-list|prohibited from registration|^not available for (?:second level )?registration|^reserved (?:by|domain|name)|` +
		`^(?:this |the )?(?:domain|name|domain name) (?:is |has been )?reserved|^reserved by registry|is reserved\.?$|` +
		`cannot be registered|can not be registered|^blocked by|this name is not available for registration`)
	limitedPhrase = diag.Regexp(`(?:limit|quota|query rate|queries|consultas) (?:\S+ ){0,5}?(?:exceeded|reached|excedidas)|` +
		`reached (?:the|your|our) (?:query )?limit|exceeded (?:the|your|our) |exceeded allowed|have exceeded|has exceeded|` +
		`is too frequent|interval is too short|still in grace period|excessive querying, grace|address used more than|^denied$|requests .{0,30}not permitted|` +
		`requests from (?:this|your) \S+ (?:is|are) (?:limited|restricted)|` +
		`your ip (?:address )?(?:is|has been) (?:blocked|restricted)|is not authori[sz]ed$|maximum number of (?:lookups|queries)|` +
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

// substantial reports whether the answer says something that only a registration has.
func (r *record) substantial() bool { return !r.bare() || r.registrar.Name != "" }

// bare reports whether the answer has no dates, no name servers and no identifier. One that names the registry as the
// registrar, and says that the domain is free, is none of a registration.
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
		line = strings.TrimLeft(strings.TrimSpace(line), "%#*>;- ")
		switch {
		case len(line) > maxPhrase:
		case limitedPhrase().MatchString(line):
			return limited
		case reservedPhrase().MatchString(line):
			result = reserved
		case result == unreadable && absentPhrase().MatchString(anyName().ReplaceAllLiteralString(line, "x.y")):
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
