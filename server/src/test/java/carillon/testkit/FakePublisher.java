package carillon.testkit;

import carillon.delivery.Publisher;
import carillon.model.Signal;
import carillon.model.target.BrokerName;
import carillon.model.target.Target;
import carillon.model.task.ClaimedTask;
import carillon.model.task.DeliveryResult;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.BiConsumer;

/** A broker that accepts and records all messages, and confirms on request. */
public final class FakePublisher implements Publisher {

  private final BrokerName name;
  private final List<ClaimedTask> published = new CopyOnWriteArrayList<>();
  private final List<InFlight> inFlight = new ArrayList<>(); // guarded by itself
  private volatile boolean reachable = true;
  private volatile boolean confirming = true;
  private volatile boolean closed;
  private volatile int room = Integer.MAX_VALUE;
  private volatile int maxInFlight = Integer.MAX_VALUE;
  private volatile Duration confirmTimeout = Duration.ZERO;
  private final Signal ready = new Signal();

  private record InFlight(ClaimedTask task, BiConsumer<ClaimedTask, DeliveryResult> ended) {}

  public FakePublisher(BrokerName name) {
    this.name = name;
  }

  @Override
  public BrokerName name() {
    return name;
  }

  @Override
  public boolean isReachable() {
    return reachable;
  }

  public void reachable(boolean reachable) {
    this.reachable = reachable;
    ready.raise();
  }

  @Override
  public int remainingCapacity(Target.Broker target) {
    return target.depth() == null ? Integer.MAX_VALUE : room;
  }

  /** Sets the number of further messages that fit into a queue with a depth limit. */
  public void room(int messages) {
    room = messages;
    ready.raise();
  }

  @Override
  public boolean isFull() {
    synchronized (inFlight) {
      return inFlight.size() >= maxInFlight;
    }
  }

  /** Sets the number of messages in flight at which the publisher is full. */
  public void maxInFlight(int messages) {
    maxInFlight = messages;
    ready.raise();
  }

  @Override
  public Duration confirmTimeout() {
    return confirmTimeout;
  }

  public void confirmTimeout(Duration timeout) {
    confirmTimeout = timeout;
  }

  /** Withholds the confirmations of later messages until {@link #end}. */
  public void hold() {
    confirming = false;
  }

  /** Ends all messages in flight with this result. */
  public void end(DeliveryResult result) {
    List<InFlight> ending;
    synchronized (inFlight) {
      ending = List.copyOf(inFlight);
      inFlight.clear();
    }
    ending.forEach(one -> one.ended().accept(one.task(), result));
  }

  @Override
  public void publish(List<ClaimedTask> tasks, BiConsumer<ClaimedTask, DeliveryResult> ended) {
    synchronized (inFlight) {
      tasks.forEach(task -> inFlight.add(new InFlight(task, ended)));
    }
    published.addAll(tasks);
    if (room < Integer.MAX_VALUE) {
      room = Math.max(0, room - tasks.size());
    }
    if (closed) {
      end(new DeliveryResult.Interrupted());
    } else if (confirming) {
      end(new DeliveryResult.Accepted(null, null));
    }
  }

  public List<ClaimedTask> published() {
    return published;
  }

  @Override
  public Signal ready() {
    return ready;
  }

  @Override
  public void close() {
    closed = true;
    end(new DeliveryResult.Interrupted());
  }
}
