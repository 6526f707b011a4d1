package metering

import (
	"context"
	"iter"
)

// Monthly is an optional ability of a [Store]: the balances of a month of all accounts that have one, in few reads
// and in no certain order. Without it a close asks for each account.
type Monthly interface {
	Balances(ctx context.Context, p Period) iter.Seq2[MonthBalance, error]
}

// MonthBalance is the balance of an account, without plan and limit.
type MonthBalance struct {
	Account AccountID
	Balance
}
