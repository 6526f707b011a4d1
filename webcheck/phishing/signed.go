package phishing

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag/kit"
)

// A protocol is a set of query parameters that belong together: a signed request for one object, or a step of signing
// in at another site. They are long, random and full of addresses by their nature, and say nothing of who made the URL.
type protocol struct {
	// needs are the parameters that must all be there, each with one of its names and in its form.
	needs []parameter
	// takes are the others that belong to it, and prefixes of their names that end with "*".
	takes []string
}

type parameter struct {
	names string // separated by spaces, in lower case
	form  func() *regexp.Regexp
}

// The forms of values.
var (
	anything = kit.Regexp(`.`)
	hexSum   = kit.Regexp(`^(?i)[0-9a-f]{32,1000}$`)
	encoded  = kit.Regexp(`^[A-Za-z0-9+/_~.-]{20,}[=_]{0,2}$`)
	messages = kit.Regexp(`^[A-Za-z0-9+/_\s-]{40,}={0,2}$`)
	moment   = kit.Regexp(`^(?:\d{10}|\d{13}|(?i:[0-9a-f]{8})|\d{8}T\d{6}Z|` +
		`\d{4}-\d\d-\d\d(?:T[\d:.]+(?:Z|[+-][\d:]+)?)?)$`)
	lifetime  = kit.Regexp(`^\d{1,7}$`)
	signSteps = kit.Regexp(`^wsign(?:in|out|outcleanup)1\.0$`)
	flows     = kit.Regexp(`^(?:code|token|id_token|none)(?:[ +](?:code|token|id_token))*$`)
	algorithm = kit.Regexp(`^(?:AWS4|GOOG4)-[A-Z0-9-]+$`)
)

var protocols = []protocol{
	{ // AWS Signature Version 4, also of MinIO, Cloudflare R2 and Backblaze (docs.aws.amazon.com,
		// "sigv4-query-string-auth")
		[]parameter{{"x-amz-algorithm", algorithm}, {"x-amz-credential", anything}, {"x-amz-date", moment},
			{"x-amz-expires", lifetime}, {"x-amz-signature", hexSum}},
		strings.Fields(`x-amz-* x-id response-* versionid actor_id key_id repo_id partnumber uploadid`),
	},
	{ // V4 signing of Google Cloud Storage (cloud.google.com, "canonical requests")
		[]parameter{{"x-goog-algorithm", algorithm}, {"x-goog-credential", anything}, {"x-goog-date", moment},
			{"x-goog-expires", lifetime}, {"x-goog-signature", hexSum}},
		strings.Fields(`x-goog-* response-* generation`),
	},
	{ // version 2 of Amazon and Google, Alibaba Cloud OSS, CloudFront with a canned or a custom policy
		[]parameter{{"awsaccesskeyid googleaccessid ossaccesskeyid key-pair-id", anything}, {"signature", encoded},
			{"expires policy", anything}},
		strings.Fields(`response-* x-amz-security-token security-token policy versionid hash-algorithm`),
	},
	{ // shared access signatures of Azure (learn.microsoft.com, "create-service-sas")
		[]parameter{{"sig", encoded}, {"sv", moment}, {"se si", anything}},
		strings.Fields(`st sr sp spr sip ss srt skoid sktid skt ske sks skv rscd rsct rscc rsce rscl jwt si se sdd scid
			response-*`),
	},
	{ // the redirect binding of SAML 2.0 (OASIS SAML 2.0 Bindings section 3.4)
		[]parameter{{"samlrequest samlresponse samlart", messages}},
		strings.Fields(`relaystate sigalg signature samlencoding`),
	},
	{ // WS-Federation 1.2 section 13.2, as ADFS speaks it
		[]parameter{{"wa", signSteps}, {"wtrealm wctx wreply wresult", anything}},
		strings.Fields(`wtrealm wctx wreply wct whr wfresh wauth wres wreq wresult username login_hint cbcxt popupui
			mkt lc client-request-id pullstatus`),
	},
	{ // an authorization request of OAuth 2.0 and OpenID Connect (RFC 6749 section 4.1.1)
		[]parameter{{"client_id", anything}, {"response_type", flows}}, oauthParameters,
	},
	{ // the same, without the type, as many an authorization server lets it
		[]parameter{{"client_id", anything}, {"redirect_uri", anything}, {"state scope", anything}}, oauthParameters,
	},
	{ // the answer to one (RFC 6749 section 4.1.2)
		[]parameter{{"code", encoded}, {"state", anything}},
		strings.Fields(`session_state iss scope authuser prompt hd`),
	},
	{ // OpenID 2.0
		[]parameter{{"openid.mode", anything}, {"openid.return_to openid.realm", anything}}, strings.Fields(`openid.*`),
	},
	{ // custom signature schemes, with the time until which they hold
		[]parameter{{"sig sign signature urlsignature hmac hash hm temp_url_sig s t oh __gda__ token hdnts", encoded},
			{"expires expire expiry urlexpires exp e ex oe temp_url_expires valid_until expires_at", moment}},
		strings.Fields(`is policy urlsigningmethod _nc_* ccb`),
	},
}

var oauthParameters = strings.Fields(`redirect_uri response_type response_mode scope state nonce code_challenge
	code_challenge_method login_hint domain_hint prompt ui_locales acr_values id_token_hint request request_uri resource
	audience max_age display client-request-id sso_reload x-client-* msafed instance_aware access_type
	include_granted_scopes connection organization screen_hint auth0client flowname service dsh continue`)

// maxParameters bounds the parameters that are examined.
const maxParameters = 100

// explained returns path, query and fragment without the parameters of a known protocol, and without tokens of
// standard form: those of RFC 7519 and RFC 9562.
func explained(tail string) string {
	rest, fragment, hasFragment := strings.Cut(tail, "#")
	path, query, hasQuery := strings.Cut(rest, "?")
	segments := strings.Split(path, "/")
	for i, s := range segments {
		if standardToken(s) {
			segments[i] = "-"
		}
	}
	out := strings.Join(segments, "/")
	if hasQuery {
		out += "?" + strings.Join(explainedQuery(strings.Split(query, "&")), "&")
	}
	if hasFragment {
		out += "#" + fragment
	}
	return out
}

// explainedQuery leaves out what a protocol takes, and tokens of standard form.
func explainedQuery(pairs []string) []string {
	if len(pairs) > maxParameters {
		return pairs
	}
	values := map[string]string{}
	for _, pair := range pairs {
		name, value := parameterOf(pair)
		values[name] = value
	}
	var taken []*protocol
	for i := range protocols {
		if protocols[i].matches(values) {
			taken = append(taken, &protocols[i])
		}
	}
	kept := []string{}
	for _, pair := range pairs {
		name, value := parameterOf(pair)
		switch {
		case slices.ContainsFunc(taken, func(p *protocol) bool { return p.takesParameter(name) }):
		case standardToken(value):
			kept = append(kept, name+"=")
		default:
			kept = append(kept, pair)
		}
	}
	return kept
}

// parameterOf returns the name of a parameter in lower case, and its value, both decoded.
func parameterOf(pair string) (name, value string) {
	name, value, _ = strings.Cut(pair, "=")
	if decoded, err := url.QueryUnescape(name); err == nil {
		name = decoded
	}
	if decoded, err := url.PathUnescape(value); err == nil {
		value = decoded
	}
	return strings.ToLower(name), value
}

func (p *protocol) matches(values map[string]string) bool {
	return !slices.ContainsFunc(p.needs, func(need parameter) bool {
		return !slices.ContainsFunc(strings.Fields(need.names), func(name string) bool {
			value, there := values[name]
			return there && need.form().MatchString(value)
		})
	})
}

func (p *protocol) takesParameter(name string) bool {
	needed := func(need parameter) bool { return slices.Contains(strings.Fields(need.names), name) }
	return slices.ContainsFunc(p.needs, needed) ||
		slices.ContainsFunc(p.takes, func(t string) bool {
			prefix, open := strings.CutSuffix(t, "*")
			return t == name || open && strings.HasPrefix(name, prefix)
		})
}

var uuidForm = kit.Regexp(`^(?i)[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)

// standardToken reports whether a text is a UUID (RFC 9562 section 4) or a JSON Web Token (RFC 7519 section 3).
func standardToken(s string) bool {
	if len(s) == 36 {
		return uuidForm().MatchString(s)
	}
	header, rest, ok := strings.Cut(s, ".")
	if !ok || len(header) < 16 || len(header) > 2000 || strings.Count(rest, ".") != 1 && strings.Count(rest, ".") != 3 {
		return false
	}
	text, err := base64.RawURLEncoding.DecodeString(header)
	var fields struct{ Alg string }
	return err == nil && json.Unmarshal(text, &fields) == nil && fields.Alg != ""
}
