package phishing

import (
	_ "embed" // words.txt
	"strings"

	"github.com/diagkit/diagkit/diag"
)

//go:embed words.txt
var wordLists string

var lists = diag.WordLists(wordLists)

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

// freeHosts are where anybody puts pages under a name of its own, at once and for free, beside those that the
// public suffix list has.
var freeHosts = lists("free hosts")

// blogHosts are those of the free hosts that are mostly used for blogs and pages of schools and clubs.
var blogHosts = lists("hosts of blogs")

// dynamicHosts are names for machines whose address changes, given to anybody for free.
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

// A service is a place at a big company where anybody puts pages, forms or files.
type service struct {
	host string // or one under it, if it begins with a dot
	path string // with which the path begins
	what string
}

var services = []service{
	{"docs.google.com", "/forms", "a form at Google Forms"},
	{"docs.google.com", "/", "a document at Google Docs"},
	{"drive.google.com", "/", "a file at Google Drive"},
	{"sites.google.com", "/", "a site at Google Sites"},
	{"script.google.com", "/", "a script at Google Apps Script"},
	{"storage.googleapis.com", "/", "a file at Google Cloud Storage"},
	{"storage.cloud.google.com", "/", "a file at Google Cloud Storage"},
	{"vk.com", "/away", "a redirect by VK"},
	{"files.fm", "/", "a file at Files.fm"},
	{"firebasestorage.googleapis.com", "/", "a file at Firebase"},
	{".googleusercontent.com", "/", "a file at Google"},
	{"translate.google.com", "/", "a page translated by Google"},
	{"www.google.com", "/url", "a redirect by Google"},
	{"www.google.com", "/amp", "a page kept by Google"},
	{"forms.office.com", "/", "a form at Microsoft Forms"},
	{"forms.gle", "/", "a form at Google Forms"},
	{".sharepoint.com", "/", "a file at Microsoft SharePoint"},
	{"onedrive.live.com", "/", "a file at Microsoft OneDrive"},
	{"1drv.ms", "/", "a file at Microsoft OneDrive"},
	{".blob.core.windows.net", "/", "a file at Microsoft Azure"},
	{".web.core.windows.net", "/", "a site at Microsoft Azure"},
	{".azurewebsites.net", "/", "a site at Microsoft Azure"},
	{"www.dropbox.com", "/s", "a file at Dropbox"},
	{"www.dropbox.com", "/l/", "a file at Dropbox"},
	{".dropboxusercontent.com", "/", "a file at Dropbox"},
	{".amazonaws.com", "/", "a file or site at Amazon Web Services"},
	{".mailchimp.com", "/", "a page at Mailchimp"},
	{"app.box.com", "/", "a file at Box"},
	{"we.tl", "/", "a file at WeTransfer"},
	{".jotform.com", "/", "a form at Jotform"},
	{".typeform.com", "/", "a form at Typeform"},
	{"www.surveymonkey.com", "/r", "a form at SurveyMonkey"},
	{".surveygizmo.com", "/", "a form at SurveyGizmo"},
	{".formstack.com", "/", "a form at Formstack"},
	{".123formbuilder.com", "/", "a form at 123FormBuilder"},
	{".cognitoforms.com", "/", "a form at Cognito Forms"},
	{".zohosites.com", "/", "a site at Zoho"},
	{"forms.zohopublic.com", "/", "a form at Zoho"},
	{".constantcontact.com", "/", "a page at Constant Contact"},
	{".myshopify.com", "/", "a shop at Shopify"},
	{"telegra.ph", "/", "a page at Telegraph"},
	{"linktr.ee", "/", "a page at Linktree"},
	{"adobeindd.com", "/", "a document at Adobe"},
	{".adobesign.com", "/", "a document at Adobe"},
	{"express.adobe.com", "/page", "a page at Adobe Express"},
	{"www.canva.com", "/design", "a page at Canva"},
	{".notion.site", "/", "a page at Notion"},
	{"www.evernote.com", "/shard", "a note at Evernote"},
	{"steamcommunity.com", "/linkfilter", "a redirect by Steam"},
	{"l.facebook.com", "/", "a redirect by Facebook"},
	{"lm.facebook.com", "/", "a redirect by Facebook"},
	{"www.youtube.com", "/redirect", "a redirect by YouTube"},
	{"www.linkedin.com", "/redir", "a redirect by LinkedIn"},
}

// service returns the service at which the URL has a page that is anybody's, or nil.
func (a *anatomy) service() *service {
	host := a.url.Host().Name()
	for i := range services {
		s := &services[i]
		if (host == strings.TrimPrefix(s.host, ".") || s.host[0] == '.' && strings.HasSuffix(host, s.host)) &&
			strings.HasPrefix(a.path, s.path) {
			return s
		}
	}
	return nil
}

// credentialWords are what pages for stealing passwords call themselves, in the languages that most of them
// are written in.
var credentialWords = lists("words of credentials")

// credentialParts are such words that also count inside of others.
var credentialParts = []string{"login", "logon", "signin", "verif", "secur", "passw", "webmail", "account", "confirm",
	"voicemail", "webscr", "banking", "mailbox", "billing", "update", "wallet", "office365", "validat", "authent",
	"suspend", "compte"}

// hostWords are those of them that few honest hosts have in their name.
var hostWords = lists("words of credentials in hosts")

// programDirs are where the software of a web site keeps its own files: a page for visitors there was most
// likely put by somebody who broke in.
var programDirs = lists("program directories")

// kitParams are parameters that kits for making phishing pages add to look busy, and that no site needs.
var kitParams = lists("parameters of kits")

// openExtensions are those of documents, pictures and archives; runnable ones follow in double extensions.
var openExtensions = diag.Words(`pdf doc docx xls xlsx ppt pptx jpg jpeg png gif txt zip rar csv rtf mp3 mp4`)

// lastExtensions are those that a name ends in when it pretends to be a document.
var lastExtensions = diag.Words(`
	exe scr apk bat cmd com pif vbs vbe js jse jar msi hta lnk ps1 iso img html htm shtml php asp aspx jsp cgi zip rar`)
