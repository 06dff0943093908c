package textbook

import (
	"context"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// DocumentName is what MongoDB's recipe for a lock is called.
const DocumentName = "MongoDB findAndModify"

// Document is a document with an owner that says until when it counts. findAndModify takes the one that has expired, or
// makes one. Where the lock is held it finds none, and the one that it makes then has a key that is there already. A
// delete of the owner's document gives the lock back.
//
// Its flaws: the caller's clock says when a hold ends, and that of the next one whether it has ended: where they differ by
// more than a lease, nobody is kept out. A holder that was stopped for longer than its lease goes on as if it had the
// lock, beside the next one, and without a fencing token nobody stops its writes.
//
// FerretDB 1 finds and writes in two steps: callers who find the same expired document at once all get the lock.
func Document(locks *mongo.Collection, name string, t Timing) Lock {
	return recipe{
		take: func(ctx context.Context, owner string) (bool, error) {
			now := time.Now()
			expired := bson.M{"_id": name, "expires": bson.M{"$lte": now}}
			mine := bson.M{"$set": bson.M{"owner": owner, "expires": now.Add(t.Lease)}}
			orNew := options.FindOneAndUpdate().SetUpsert(true).SetReturnDocument(options.After)
			err := locks.FindOneAndUpdate(ctx, expired, mine, orNew).Err()
			if mongo.IsDuplicateKeyError(err) {
				return false, nil
			}
			return err == nil, err
		},
		give: func(ctx context.Context, owner string) (bool, error) {
			done, err := locks.DeleteOne(ctx, bson.M{"_id": name, "owner": owner})
			return err == nil && done.DeletedCount > 0, err
		},
	}.polled(name, t.Poll)
}
