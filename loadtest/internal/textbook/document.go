package textbook

import (
	"context"
	"fmt"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// MongoDB's recipe for a lock.
const (
	DocumentName = "MongoDB findAndModify"
	DocumentFlaw = "the callers' clocks judge when a hold ends; a holder that outlives it is not told and goes on, as with SET NX PX"
)

// Document is a document with an owner that says until when it counts. findAndModify takes the one that has expired, or
// makes one. Where the lock is held it finds none, and the one that it makes then has a key that is there already. A
// delete of the owner's document gives the lock back.
//
// Its flaws: the caller's clock says when a hold ends, and that of the next one whether it has ended: where they differ by
// more than a lease, nobody is kept out. A holder that was stopped for longer than its lease goes on as if it had the
// lock, beside the next one, and without a fencing token nobody stops its writes.
//
// FerretDB 1 finds and writes in two steps: callers who find the same expired document at once all get the lock.
type Document struct {
	Locks *mongo.Collection
	Name  string
	Lease time.Duration
	Poll  time.Duration // how often a waiter tries
}

// Lock implements [Lock].
func (l Document) Lock(ctx context.Context) (Hold, error) { return again(ctx, l.Poll, l.TryLock) }

// TryLock implements [Lock].
func (l Document) TryLock(ctx context.Context) (Hold, error) {
	now, owner := time.Now(), newValue()
	expired := bson.M{"_id": l.Name, "expires": bson.M{"$lte": now}}
	mine := bson.M{"$set": bson.M{"owner": owner, "expires": now.Add(l.Lease)}}
	orNew := options.FindOneAndUpdate().SetUpsert(true).SetReturnDocument(options.After)
	err := l.Locks.FindOneAndUpdate(ctx, expired, mine, orNew).Err()
	if mongo.IsDuplicateKeyError(err) {
		return nil, ErrBusy
	}
	if err != nil {
		return nil, fmt.Errorf("write the document of the lock %s: %w", l.Name, err)
	}
	return documentHold{l, owner}, nil
}

type documentHold struct {
	lock  Document
	owner string
}

// Unlock implements [Hold].
func (h documentHold) Unlock(ctx context.Context) error {
	done, err := h.lock.Locks.DeleteOne(ctx, bson.M{"_id": h.lock.Name, "owner": h.owner})
	if err != nil {
		return fmt.Errorf("delete the document of the lock %s: %w", h.lock.Name, err)
	}
	if done.DeletedCount == 0 {
		return ErrNotHeld
	}
	return nil
}
