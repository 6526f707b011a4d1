package phishing

import (
	_ "embed" // words.txt
	"strings"
	"sync"

	"github.com/diagkit/diagkit/diag/kit"
)

//go:embed words.txt
var wordLists string

var lists = kit.WordLists(wordLists)

// The tables of this file are compiled by hand from public knowledge, as of 2026-11-22.

// under returns the entry of a set that a host is equal to or lies under, or nothing.
func under(host string, entries map[string]bool) string {
	for name := host; name != ""; _, name, _ = strings.Cut(name, ".") {
		if entries[name] {
			return name
		}
	}
	return ""
}

// abusedTLDs are top-level domains that were given away or sold for next to nothing, and that reports on
// abuse (Spamhaus, Interisle "Phishing Landscape", 2021 to 2025) name for their share of bad domains.
var abusedTLDs = lists("abused top-level domains")

// freeHosts are where anyone puts pages under a name of its own, at once and for free, beside those that the
// public suffix list has.
var freeHosts = lists("free hosts")

// blogHosts are those of the free hosts that are mostly used for blogs and pages of schools and clubs.
var blogHosts = lists("hosts of blogs")

// dynamicHosts are names for machines whose address changes, given to anyone for free.
var dynamicHosts = lists("hosts of dynamic names")

// shorteners answer with a redirect and hide where a link leads. Those that only lead to pages of the brand that runs
// them, such as youtu.be, are not among them.
var shorteners = lists("shorteners")

// shortener returns the service that a host is, or nothing.
func shortener(host string) string {
	host = strings.TrimPrefix(host, "www.")
	if shorteners()[host] {
		return host
	}
	return ""
}

// A service is a place at a big company where anyone puts pages, forms or files.
type service struct {
	host string // or one under it, if it begins with a dot
	path string // with which the path begins
	what string
}

var services = sync.OnceValue(func() (list []service) {
	for line := range strings.SplitSeq(strings.TrimSpace(serviceLines), "\n") {
		columns := strings.SplitN(line, " ", 3)
		list = append(list, service{columns[0], columns[1], columns[2]})
	}
	return list
})

//go:embed services.txt
var serviceLines string

// service returns the service at which the URL has a page that is anyone's, or nil.
func (a *anatomy) service() *service {
	host := a.url.Host().Name()
	for i := range services() {
		s := &services()[i]
		if (host == strings.TrimPrefix(s.host, ".") || s.host[0] == '.' && strings.HasSuffix(host, s.host)) &&
			strings.HasPrefix(a.path, s.path) {
			return s
		}
	}
	return nil
}

// credentialWords are the words that credential phishing pages use for themselves, in the languages that most of them
// are written in.
var credentialWords = lists("words of credentials")

// credentialParts are such words that also count inside of others.
var credentialParts = []string{"login", "logon", "signin", "verif", "secur", "passw", "webmail", "account", "confirm",
	"voicemail", "webscr", "banking", "mailbox", "billing", "update", "wallet", "office365", "validat", "authent",
	"suspend", "compte"}

// hostWords are those of them that few honest hosts have in their name.
var hostWords = lists("words of credentials in hosts")

// programDirs are where the software of a web site keeps its own files: a page for visitors there was
// most likely put there by an intruder.
var programDirs = lists("program directories")

// kitParams are parameters that kits for making phishing pages add to look busy, and that no site needs.
var kitParams = lists("parameters of kits")

// openExtensions are those of documents, pictures and archives; runnable ones follow in double extensions.
var openExtensions = kit.Words(`pdf doc docx xls xlsx ppt pptx jpg jpeg png gif txt zip rar csv rtf mp3 mp4`)

// lastExtensions are those that a name ends in when it pretends to be a document.
var lastExtensions = kit.Words(`
	exe scr apk bat cmd com pif vbs vbe js jse jar msi hta lnk ps1 iso img html htm shtml php asp aspx jsp cgi zip rar`)
