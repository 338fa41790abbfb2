package carillon.store.db;

/** What is between us and PostgreSQL. */
public enum Pooler {
  /** Nothing: a connection is a session of the server's, and keeps what is set on it. */
  NONE,
  /**
   * One that gives every transaction a session of its choice, as PgBouncer's transaction mode does:
   * what outlives a transaction is somebody else's.
   */
  TRANSACTION
}
