package dashboard

// notices are what a page may say of what was just done, by the word in its address.
var notices = map[string]string{
	"link-sent":        "If the address is that of a member, a link is on its way to it. It can be used once, within 15 minutes.",
	"signed-out":       "You are signed out.",
	"key-created":      "The key is created.",
	"key-rotated":      "The key is rotated.",
	"key-revoked":      "The key is revoked.",
	"overage-set":      "The overage is changed.",
	"invoice-void":     "The invoice is void.",
	"invoice-credited": "The credit note is written.",
	"channel-created":  "The channel is created.",
	"channel-set":      "The channel is changed.",
	"channel-removed":  "The channel is removed.",
	"secret-rotated":   "The secret is rotated.",
	"test-sent":        "A test event is on its way.",
	"replayed":         "The event is on its way again, as a new delivery.",
	"member-added":     "The member is added.",
	"member-set":       "The role is changed.",
	"member-removed":   "The member is removed.",
	"member-link":      "The link is made.",
	"session-ended":    "The session has ended.",
	"shared":           "The link is made.",
	"withdrawn":        "The link leads to nothing any more.",
	"account-switched": "You look after another account now.",
}
