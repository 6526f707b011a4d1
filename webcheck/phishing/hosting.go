package phishing

import (
	"strings"

	"github.com/diagkit/diagkit/diag"
)

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
var abusedTLDs = diag.Words(`
	tk ml ga cf gq top xyz icu buzz cyou rest click link live online site website space fun club shop store
	vip win bid loan men date stream download racing review trade party science work cam monster quest bar sbs cfd
	lol autos beauty boats bond cc pw su ws ru.com sa.com za.com cn.com country kim cricket accountant faith gdn
	zip mov support help surf uno host press tokyo wang ren ooo mom pics makeup hair skin motorcycles yachts homes
	life world today digital rocks ninja best one`)

// freeHosts are where anybody puts pages under a name of its own, at once and for free, beside those that the
// public suffix list has.
var freeHosts = diag.Words(`
	000webhostapp.com weebly.com weeblysite.com wixsite.com wix.com webnode.com webnode.page yolasite.com jimdo.com
	jimdosite.com jimdofree.com blogspot.com wordpress.com webs.com tripod.com angelfire.com altervista.org
	webcindario.com byethost.com byethost7.com infinityfreeapp.com rf.gd epizy.com freehostia.com awardspace.com
	freewebhostingarea.com freevar.com atwebpages.com medianewsonline.com mypressonline.com onlinewebshop.net
	sportsontheweb.net myartsonline.com getenjoyment.net scienceontheweb.net hostinger-site.com hostingersite.com
	hol.es esy.es 96.lt 16mb.com pe.hu xyz.am besaba.com zz.com.ve 890m.com kinghost.net 5gbfree.com x10.mx x10host.com
	herokuapp.com netlify.app vercel.app pages.dev workers.dev web.app firebaseapp.com appspot.com glitch.me
	surge.sh repl.co replit.app replit.dev codesandbox.io csb.app github.io gitlab.io bitbucket.io netlify.com
	fly.dev onrender.com render.com railway.app azurewebsites.net azurestaticapps.net cloudapp.net
	web.core.windows.net blob.core.windows.net s3.amazonaws.com amplifyapp.com r2.dev
	square.site godaddysites.com squarespace.com strikingly.com mystrikingly.com ukit.me ucraft.net carrd.co site123.me
	simplesite.com moonfruit.com webflow.io framer.app framer.website bubbleapps.io softr.app typedream.app
	umso.co my-free.website bravesites.com canva.site notion.site gitbook.io webador.com weblium.site tilda.ws
	universe.wf fr.nf nf.free.fr free.fr chez.com e-monsite.com ovh.org over-blog.com eklablog.com
	narod.ru ucoz.ru ucoz.com ucoz.net at.ua do.am 3dn.ru my1.ru usluga.me beget.tech tmweb.ru hostfly.by
	translate.goog ngrok.io ngrok-free.app ngrok.app trycloudflare.com loca.lt serveo.net localhost.run
	plesk.page cprapid.com temporary.site mybluehost.me sg-host.com siteground.biz cloudaccess.host
	preview-domain.com yourwebsitespace.com sitebeat.site myshopify.com ipfs.io dweb.link
	000.pe ct.ws great-site.net wuaze.com lovestoblog.com 42web.io kesug.com liveblog365.com is-best.net
	hop.ru page.tl site44.com co.nf totalh.net myfreesites.net aiq.ru webservis.ru doodlekit.com html.house vot.pl
	publishpath.com onmypost.com tumblr.com livejournal.com typepad.com blogger.com medium.com webself.net wapka.me
	a2ip.ru 2ip.ru co.vu dotcloudcdn.com zapto.org.tr rebrand.page start.page linktr.ee beacons.ai bio.link`)

// blogHosts are those of the free hosts that are mostly used for blogs and pages of schools and clubs.
var blogHosts = diag.Words(`
	blogspot.com wordpress.com weebly.com tumblr.com livejournal.com typepad.com medium.com over-blog.com jimdo.com
	wix.com wixsite.com squarespace.com webnode.com webnode.page altervista.org tripod.com e-monsite.com eklablog.com
	free.fr chez.com narod.ru ucoz.ru github.io gitlab.io myshopify.com yolasite.com angelfire.com`)

// dynamicHosts are names for machines whose address changes, given to anybody for free.
var dynamicHosts = diag.Words(`
	duckdns.org no-ip.org no-ip.com no-ip.biz no-ip.info noip.me noip.us ddns.net ddns.me ddns.info ddnsking.com
	hopto.org hopto.me zapto.org sytes.net serveftp.com servehttp.com serveblog.net servebeer.com servegame.com
	servepics.com servequake.com myftp.org myftp.biz myvnc.com redirectme.net bounceme.net gotdns.ch onthewifi.com
	webhop.me webhop.org webhop.net dyndns.org dyndns.info dyndns.biz dyndns-ip.com dyndns.tv homeip.net
	dynu.net dynu.com freeddns.org mooo.com afraid.org chickenkiller.com us.to ignorelist.com strangled.net
	crabdance.com twilightparadox.com dnsd.me dns.army dns.navy accesscam.org camdvr.org casacam.net freedynamicdns.net
	freedynamicdns.org giize.com gleeze.com kozow.com loseyourip.com mywire.org ooguy.com theworkpc.com
	dynv6.net dnsalias.com dnsalias.org homelinux.com homelinux.org selfip.com selfip.info ath.cx
	changeip.com changeip.org dsmtp.com mrbasic.com ns01.info ns02.info itsaol.com 1dumb.com 3utilities.com
	dnset.com sexidude.com ddns.us x24hr.com youdontcare.com zzux.com linkpc.net publicvm.com
	nip.io sslip.io xip.io 4cloud.click y7.sh spdns.de spdns.org spdns.eu myfritz.net selfhost.de`)

// shorteners answer with a redirect and hide where a link leads. Those that only lead to pages of the brand that runs
// them, such as youtu.be, are not among them.
var shorteners = diag.Words(`
	bit.ly bitly.com j.mp tinyurl.com t.co goo.gl ow.ly is.gd v.gd buff.ly rebrand.ly rb.gy cutt.ly shorturl.at
	shorturl.gg tiny.cc tiny.one t.ly s.id bl.ink lnkd.in lnk.to adf.ly bc.vc ouo.io shorte.st sh.st po.st mcaf.ee
	soo.gd x.co ur1.ca u.to u.nu v.ht qr.ae qrco.de 1url.com 2.gp 4sq.com b23.ru bit.do clck.ru cli.gs cutt.us
	db.tt dlvr.it fb.me ff.im flip.it git.io gg.gg han.gl hyperurl.co ift.tt kutt.it l.ead.me linktr.ee lc.chat
	me2.do n9.cl naver.me ntn.so o-x.fr onelink.to ph.ly pic.gd prettylinkpro.com qps.ru rotf.lol rlu.ru
	short.cm short.gy short.io shortlink.net shrtco.de smarturl.it snip.ly snurl.com surl.li t2m.io tcrn.ch trib.al
	tr.im twurl.nl tinu.be urlz.fr url.ie urls.im vk.cc vurl.com vzturl.com w.wiki wa.link xurl.es yfrog.com
	yourls.org zpr.io zws.im zip.net did.li dub.sh dub.co hubs.ly hubs.la mz.cm g.co
	microsoft.msafelinks.net tny.im 0rz.tw ppt.cc reurl.cc lihi.cc picsee.co supr.cl
	linkin.bio l1nk.dev urlr.me urlshortner.com shortest.link chilp.it goo.su grabify.link iplogger.org
	ht.ly cli.re bittyurl.co 3.ly geni.us iplogger.com 2no.co ezstat.ru yip.su blasze.com psee.io doiop.com lat.ms tiny.pl`)

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
var credentialWords = diag.Words(`
	login logins logon signin signon sign-in log-in auth authenticate authentication verify verification verified
	verifying validate validation confirm confirmation secure secured security account accounts myaccount update
	updates updating webscr password passwd passcode credential credentials unlock unblock suspended suspension
	restore recover recovery reactivate banking ebanking onlinebanking netbanking billing wallet invoice payment
	payments identity identify identification webmail owa sso mfa otp
	connexion verifier espaceclient securise anmelden anmeldung sicherheit verifizierung kontoverifizierung bestaetigen
	acceso seguridad verificar cuenta sesion conta acesso seguranca accesso sicurezza verifica aggiorna
	support helpdesk customer customers refund`)

// credentialParts are such words that also count inside of others.
var credentialParts = []string{"login", "logon", "signin", "verif", "secur", "passw", "webmail", "account", "confirm",
	"voicemail", "webscr", "banking", "mailbox", "billing", "update", "wallet", "office365", "validat", "authent",
	"suspend", "compte"}

// hostWords are those of them that few honest hosts have in their name.
var hostWords = diag.Words(`
	login logon signin signon auth authenticate verify verification validate validation confirm confirmation secure
	secured security account accounts update updates updating unlock unblock suspended suspension restore recover
	recovery reactivate banking ebanking onlinebanking netbanking billing wallet invoice identity identification
	support helpdesk customer customers service services alert notice server webmail owa portal
	limited resolution access refund
	connexion verifier securise anmelden sicherheit acceso seguridad cuenta conta acesso accesso sicurezza verifica`)

// programDirs are where the software of a web site keeps its own files: a page for visitors there was most
// likely put by somebody who broke in.
var programDirs = diag.Words(`
	wp-content wp-includes wp-admin wp-json wp-snapshots cgi-bin components modules plugins templates includes
	administrator .well-known vendor node_modules tmp temp cache css js images img uploads upload assets media
	languages libraries layouts themes fonts backup old test dev new admin cms inc lib bin cli logs data public
	editors codemirror tinymce ckeditor fckeditor simplepie sources system skin`)

// kitParams are parameters that kits for making phishing pages add to look busy, and that no site needs.
var kitParams = diag.Words(`
	cmd dispatch rand .rand .src userid_session login_id fav.1 fid.4.1252899642 fid.1252899642 inboxlightaspxn.1774256418
	loginid email_id emailid accesstofile fileaccess encryptedcookie docid docs_id rpsnv cobrandid lc_id
	appidkey websrc hl_session token_id sslchannel sessionid billing_id accountid pageid verif account_verification
	usr victim login_email naps appid locale`)

// openExtensions are those of documents, pictures and archives; runnable ones follow in double extensions.
var openExtensions = diag.Words(`pdf doc docx xls xlsx ppt pptx jpg jpeg png gif txt zip rar csv rtf mp3 mp4`)

// lastExtensions are those that a name ends in when it pretends to be a document.
var lastExtensions = diag.Words(`
	exe scr apk bat cmd com pif vbs vbe js jse jar msi hta lnk ps1 iso img html htm shtml php asp aspx jsp cgi zip rar`)
