// Package notify tells accounts what happens to their keys, credits, invoices and hosted SPF profiles: by webhooks that
// are signed as Standard Webhooks has it, in Slack, Microsoft Teams and Telegram, and by mail. Call [Channels.Create]
// to say where to, and run a [Deriver] and a [Worker]:
//
//	worker := &notify.Worker{Store: store, Client: client}
//	deriver := &notify.Deriver{Store: store, Wake: worker.Wake}
//	go deriver.Run(ctx)
//	go worker.Run(ctx)
//
// Receivers of webhooks in Go call [Verify].
//
// # How nothing is lost or doubled
//
// Three kinds of records lie between what happens and who is told of it. An event is written under an id that
// derives from what it tells of: by a [Deriver], which finds it in keys and balances however often it looks, or in
// one transaction with what it tells of, as an invoice. It is due. A [Worker] takes the Due away and writes a delivery
// for each channel that wants it, in one transaction. A delivery is due too. A worker claims it by moving its Due to
// the end of a lease, tries, and writes what came of it. Any number of nodes do this at once: whoever changes a
// record first has it, and what a dead node had claimed is due again at the end of its lease. So each delivery is
// made at least once, and twice only where a node died before it could say that it had been made. All attempts
// carry the same event id, by which a receiver tells them.
//
// A delivery is tried six times, over some seven hours: after failed attempts it rests 10 seconds, a minute, ten
// minutes, an hour and six hours, or longer where the receiver asks for it by Retry-After. It then stays open to
// [Channels.Replay] for a day.
//
// # What is told
//
// Of rotations one event tells, not also the creation of the new key. A key expires soon 7 days and 1 day before it
// expires. Thresholds of usage are 50, 80, 90 and 100 percent of the allowance, that of the overage budget 80; of
// several that are passed at once the highest is told. A refusal for want of credits is told once an account and
// month, one for its rate once a key and hour. Nothing is told that occurred before a channel was created, or more
// than horizon ago.
package notify
