package etcdstore

import pb "go.etcd.io/etcd/api/v3/etcdserverpb"

// The parts of a transaction's request. The client's own functions copy each condition several
// times, which costs more than all other work on a group.

func put(key string, value []byte) *pb.RequestOp {
	return &pb.RequestOp{Request: &pb.RequestOp_RequestPut{RequestPut: &pb.PutRequest{Key: []byte(key), Value: value}}}
}

func get(key string) *pb.RequestOp {
	return &pb.RequestOp{Request: &pb.RequestOp_RequestRange{RequestRange: &pb.RangeRequest{Key: []byte(key)}}}
}

// remove removes a key, or all keys from one up to, but not including, another.
func remove(key, end string) *pb.RequestOp {
	request := &pb.DeleteRangeRequest{Key: []byte(key)}
	if end != "" {
		request.RangeEnd = []byte(end)
	}
	return &pb.RequestOp{Request: &pb.RequestOp_RequestDeleteRange{RequestDeleteRange: request}}
}

// inner is a transaction within a transaction.
func inner(compares []*pb.Compare, then []*pb.RequestOp) *pb.RequestOp {
	return &pb.RequestOp{Request: &pb.RequestOp_RequestTxn{RequestTxn: &pb.TxnRequest{Compare: compares, Success: then}}}
}

// unchangedSince is the condition that a key was last changed at a revision of etcd, or does not
// exist if that is 0.
func unchangedSince(key string, revision int64) *pb.Compare {
	return &pb.Compare{
		Key: []byte(key), Target: pb.Compare_MOD, Result: pb.Compare_EQUAL,
		TargetUnion: &pb.Compare_ModRevision{ModRevision: revision},
	}
}
