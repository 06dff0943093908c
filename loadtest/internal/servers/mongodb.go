package servers

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"
)

const (
	// documentsDatabase and documentsCollection are where the locks are that are documents of MongoDB.
	documentsDatabase, documentsCollection = "inventory_lab", "locks"
	// mongoPatience bounds how long a server is looked for, and what a goodbye may take.
	mongoPatience = 3 * time.Second
	// mongoHeartbeat is how often a driver checks that the server is there: as often as it can.
	mongoHeartbeat = 500 * time.Millisecond
)

// ConnectMongoDB connects to a server of MongoDB's protocol by its URL, and returns the collection of locks when the
// server has answered. A write is answered when it is in the journal of most servers, and is sent once. Settings are more
// of them. The caller disconnects.
func ConnectMongoDB(ctx context.Context, url string, settings ...*options.ClientOptions) (locks *mongo.Collection, disconnect func() error, err error) {
	journaled := true
	base := options.Client().ApplyURI(url).SetRetryWrites(false).
		SetServerSelectionTimeout(mongoPatience).SetHeartbeatInterval(mongoHeartbeat).
		SetWriteConcern(&writeconcern.WriteConcern{W: writeconcern.WCMajority, Journal: &journaled})
	if base.Validate() != nil {
		return nil, nil, errors.New("MongoDB URL: must be mongodb://USER:PASSWORD@HOST:PORT/") // the error may quote a password
	}
	client, err := mongo.Connect(append([]*options.ClientOptions{base}, settings...)...)
	if err != nil {
		return nil, nil, fmt.Errorf("reach MongoDB: %w", err)
	}
	disconnect = func() error {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), mongoPatience)
		defer cancel()
		return client.Disconnect(ctx)
	}
	if err := client.Ping(ctx, nil); err != nil {
		return nil, nil, errors.Join(fmt.Errorf("reach MongoDB: %w", err), disconnect())
	}
	return client.Database(documentsDatabase).Collection(documentsCollection), disconnect, nil
}
