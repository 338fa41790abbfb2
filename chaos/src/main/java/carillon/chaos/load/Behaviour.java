package carillon.chaos.load;

/** What the receiver does with a delivery. The task's number determines it. */
enum Behaviour {
  OK(56),
  /** Accepts after a delay. */
  SLOW(14),
  /** Fails the first attempt. */
  FAILS_ONCE(9),
  /** Fails every attempt. */
  FAILS(5),
  /** Answers the first attempt with 429 and a Retry-After of one second. */
  LATER(5),
  /** Accepts the first attempt, but resets the connection instead of responding. */
  RESET(5),
  /** Never responds to the first attempt. */
  SILENT(3),
  /** Accepts, and sends the response byte by byte. */
  TRICKLE(3);

  private static final int ALL = 100;

  private final int percent;

  Behaviour(int percent) {
    this.percent = percent;
  }

  /** The behaviour for the task with this number. */
  static Behaviour of(RandomStreams streams, long n) {
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
