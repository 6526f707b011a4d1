package phishing

import "github.com/diagkit/diagkit/diag"

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
