package kinds

import (
	"context"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"inventory/loadtest/internal/servers"
)

// Document is what MongoDB's recipe for a lock is called.
const Document = "MongoDB findAndModify"

// openDocument connects to MongoDB.
func openDocument(ctx context.Context, s Setting) (*Client, error) {
	settings := options.Client().SetMaxPoolSize(uint64(s.Connections)) //nolint:gosec // a few
	if s.Meter != nil {
		settings.SetMonitor(&event.CommandMonitor{Started: func(context.Context, *event.CommandStartedEvent) { s.Meter.Commands.Add(1) }})
	}
	locks, disconnect, err := servers.ConnectMongoDB(ctx, s.MongoDBURL, settings)
	if err != nil {
		return nil, err
	}
	return &Client{Lock: func(name string) Lock { return document(locks, name, s) }, Close: disconnect}, nil
}

// document is a document with an owner and an end. findAndModify takes the one that has expired, or makes one. While the lock is
// held it finds none, and the one that it makes then has a key that is there already. A delete of the owner's document gives
// the lock back.
//
// Its flaws: the caller's clock says when a hold ends, and that of the next caller whether it has ended: where they differ by
// more than a lease, there is no exclusion. A holder that was stopped for longer than its lease goes on as if it had the lock,
// as the next one does, and without a fencing token its writes are accepted.
func document(locks *mongo.Collection, name string, s Setting) Lock {
	return recipe{
		take: func(ctx context.Context, owner string) (bool, error) {
			now := time.Now()
			expired := bson.M{"_id": name, "expires": bson.M{"$lte": now}}
			mine := bson.M{"$set": bson.M{"owner": owner, "expires": now.Add(s.Lease)}}
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
	}.polled(name, s.Poll)
}
