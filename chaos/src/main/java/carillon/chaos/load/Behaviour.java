package carillon.chaos.load;

/** What the receiver does with a delivery; which one is decided by the task's number. */
enum Behaviour {
  OK(56),
  /** Answers well after a while. */
  SLOW(14),
  /** Fails the first attempt. */
  FAILS_ONCE(9),
  /** Fails every attempt. */
  FAILS(5),
  /** Asks, at the first attempt, to come back a second later. */
  LATER(5),
  /** Does it, and ends the connection before it says so, at the first attempt. */
  RESET(5),
  /** Says nothing at all, at the first attempt. */
  SILENT(3),
  /** Answers well, byte by byte. */
  TRICKLE(3);

  private static final int ALL = 100;

  private final int percent;

  Behaviour(int percent) {
    this.percent = percent;
  }

  /** Of the task with this number. */
  static Behaviour of(Streams streams, long n) {
    long draw = Long.remainderUnsigned(streams.at("receiver", n), ALL);
    for (Behaviour behaviour : values()) {
      draw -= behaviour.percent;
      if (draw < 0) {
        return behaviour;
      }
    }
    return OK;
  }
}
