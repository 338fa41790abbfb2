package carillon.delivery.rabbitmq;

import carillon.model.DeliveryResult;
import carillon.model.Failure;
import carillon.model.FailureKind;
import com.rabbitmq.client.Channel;
import com.rabbitmq.client.Return;
import com.rabbitmq.client.ShutdownSignalException;
import java.io.IOException;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentNavigableMap;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * One channel in confirm mode and the thread that writes to it, so that nobody else ever waits for
 * the network.
 */
final class ConfirmingChannel {

  /** Unconfirmed messages; more of them make the broker's memory full and nothing faster. */
  private static final int WINDOW = 3_000;

  private final Channel channel;
  private final Valve valve;
  private final BlockingQueue<Publication> waiting = new LinkedBlockingQueue<>();
  private final ConcurrentNavigableMap<Long, Publication> unconfirmed =
      new ConcurrentSkipListMap<>();
  private final Semaphore window = new Semaphore(WINDOW);
  private final AtomicReference<@Nullable Function<Publication, DeliveryResult>> ending =
      new AtomicReference<>();
  private final Thread writer;

  private ConfirmingChannel(Channel channel, Valve valve, String name) {
    this.channel = channel;
    this.valve = valve;
    this.writer = Thread.ofVirtual().name(name).unstarted(this::write);
  }

  /**
   * @param valve holds writing up while the broker wants nothing
   * @param whenClosed is told why, if it was not us
   */
  static ConfirmingChannel open(Channel channel, Valve valve, String name, ChannelClosed whenClosed)
      throws IOException {
    var confirming = new ConfirmingChannel(channel, valve, name);
    channel.confirmSelect();
    channel.addReturnListener(confirming::returned);
    channel.addConfirmListener(confirming::acked, confirming::nacked);
    channel.addShutdownListener(cause -> whenClosed.because(confirming, cause));
    confirming.writer.start();
    return confirming;
  }

  /** Hears that the broker or the network has closed a channel. */
  interface ChannelClosed {
    void because(ConfirmingChannel channel, ShutdownSignalException cause);
  }

  void add(Publication publication) {
    waiting.add(publication);
    Function<Publication, DeliveryResult> how = ending.get();
    if (how != null) {
      endAll(how);
    }
  }

  private void write() {
    try {
      while (ending.get() == null) {
        Publication next = waiting.take();
        try {
          window.acquire();
          valve.awaitOpen();
          send(next);
        } catch (InterruptedException e) {
          waiting.add(next); // ends with the others
          throw e;
        }
      }
    } catch (InterruptedException _) {
      // the end
    }
    Function<Publication, DeliveryResult> how = ending.get();
    endAll(how == null ? _ -> Publication.unreached("the connection was given up") : how);
  }

  private void send(Publication next) {
    next.sent(System.nanoTime()); // before anybody can find it
    unconfirmed.put(channel.getNextPublishSeqNo(), next);
    try {
      channel.basicPublish(
          next.target.exchange(), next.target.routingKey(), true, next.properties, next.body);
    } catch (IOException | ShutdownSignalException _) {
      // Who was told that the channel is closed ends this with the others.
      Function<Publication, DeliveryResult> how = ending.get();
      if (how != null) {
        endAll(how);
      }
    } catch (RuntimeException e) {
      // It cannot be written, but was counted: from here on confirms would mean other messages.
      next.end(
          new DeliveryResult.Refused(
              Failure.of(FailureKind.BROKER_REFUSED, "it cannot be a message: " + e.getMessage())));
      abort();
    }
  }

  private void abort() {
    try {
      channel.abort();
    } catch (IOException _) {
      // it is closed already
    }
  }

  /** Comes right before its confirm, so it is among the first that wait for one. */
  private void returned(Return message) {
    String id = String.valueOf(message.getProperties().getMessageId());
    Map<String, Object> headers = message.getProperties().getHeaders();
    Object fence = headers == null ? null : headers.get("Carillon-Fence");
    for (Publication sent : unconfirmed.values()) {
      if (sent.isOf(id, fence)) {
        sent.markReturned();
        return;
      }
    }
  }

  private void acked(long tag, boolean andBefore) {
    take(tag, andBefore, Publication::confirmed);
  }

  private void nacked(long tag, boolean andBefore) {
    DeliveryResult refused =
        Publication.failed(FailureKind.BROKER_REFUSED, "the queue did not take the message");
    take(tag, andBefore, _ -> refused);
  }

  private void take(long tag, boolean andBefore, Function<Publication, DeliveryResult> how) {
    if (andBefore) {
      Map.Entry<Long, Publication> first;
      while ((first = unconfirmed.firstEntry()) != null && first.getKey() <= tag) {
        end(first.getKey(), how);
      }
    } else {
      end(tag, how);
    }
  }

  private void end(long tag, Function<Publication, DeliveryResult> how) {
    Publication sent = unconfirmed.remove(tag);
    if (sent != null) {
      window.release();
      sent.end(how.apply(sent));
    }
  }

  /** Ends those that have been unconfirmed since before the given time. */
  void giveUp(long sentBefore, DeliveryResult result) {
    for (Map.Entry<Long, Publication> entry : unconfirmed.entrySet()) {
      if (entry.getValue().sentAt() - sentBefore >= 0) {
        return; // all others were sent later
      }
      end(entry.getKey(), _ -> result);
    }
  }

  /** Ends everything, now and later. The first to say how decides. */
  void close(Function<Publication, DeliveryResult> how) {
    ending.compareAndSet(null, how);
    Function<Publication, DeliveryResult> decided = ending.get();
    endAll(decided == null ? how : decided);
    writer.interrupt();
  }

  private void endAll(Function<Publication, DeliveryResult> how) {
    for (Long tag : unconfirmed.keySet()) {
      end(tag, how);
    }
    Publication next;
    while ((next = waiting.poll()) != null) {
      next.end(how.apply(next));
    }
  }
}
