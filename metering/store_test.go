package metering

import "testing"

func TestBalance(t *testing.T) {
	for name, c := range map[string]struct {
		balance            Balance
		remaining, overage int64
	}{
		"unused":       {Balance{Limit: 30}, 30, 0},
		"held":         {Balance{Limit: 30, Held: 30}, 30, 0},
		"used":         {Balance{Limit: 30, Used: 29}, 1, 0},
		"used up":      {Balance{Limit: 30, Used: 30}, 0, 0},
		"overage":      {Balance{Limit: 30, Used: 31, Overage: 1}, 0, 1},
		"no allowance": {Balance{Used: 7, Overage: 7}, 0, 7},
	} {
		equal(t, c.remaining, c.balance.Remaining(), "%s", name)
		equal(t, c.overage, c.balance.Overage, "%s", name)
	}
}

// Errors are read by operators; their text is a part of the interface, and holds no secret.
func TestErrorTexts(t *testing.T) {
	for want, err := range map[string]error{
		"plan free: 29 of 30 credits are taken, 2 more were asked for": &QuotaError{
			Plan: "free", Limit: 30, Current: 29, Requested: 2, Left: 1,
		},
		"plan pack: the account is suspended": &QuotaError{Plan: "pack", Reason: QuotaSuspended},
		"refused: invalid_key":                &RefusedError{Reason: InvalidKey},
		"refused: scope_missing: mail:write":  &RefusedError{Reason: ScopeMissing, Required: MailWrite},
		"name: must have 1 to 64 characters":  checkName(""),
		"not an API secret":                   errSecret,
	} {
		equal(t, want, err.Error())
	}
}
