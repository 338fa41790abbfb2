package carillon.client.rabbitmq;

import carillon.client.ClaimedTask;
import carillon.client.TaskSource.Ending;
import carillon.client.TaskSource.Sink;
import carillon.client.broker.OpenAttempts;
import carillon.client.broker.TaskMessage;
import com.rabbitmq.client.Channel;
import com.rabbitmq.client.Connection;
import com.rabbitmq.client.ConnectionFactory;
import com.rabbitmq.client.Delivery;
import com.rabbitmq.client.ShutdownSignalException;
import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;

/**
 * Runs one connection: delivers tasks and settles ended ones. Only the thread of {@link #consume}
 * uses the channel; other threads queue steps for it.
 */
final class RabbitRun {

  private static final int CLOSE_MILLIS = 3_000;

  private final Sink sink;
  private final OpenAttempts openAttempts;
  private final BiConsumer<Delivery, String> onSkipped;
  private final LinkedBlockingQueue<Step> steps = new LinkedBlockingQueue<>();
  private boolean isCancelled; // confined to the channel's thread
  private final CountDownLatch closed = new CountDownLatch(1);

  /** A step for the channel's thread. Returns false to stop. */
  @FunctionalInterface
  private interface Step {
    boolean run(Channel channel, String consumer) throws IOException;
  }

  RabbitRun(Sink sink, OpenAttempts openAttempts, BiConsumer<Delivery, String> onSkipped) {
    this.sink = sink;
    this.openAttempts = openAttempts;
    this.onSkipped = onSkipped;
  }

  /** Consumes until closed. Throws if the connection is lost. */
  void consume(ConnectionFactory broker, String queue, @Nullable QueueSpec spec)
      throws IOException, TimeoutException, InterruptedException {
    try {
      Connection connection = broker.newConnection("carillon " + sink.worker());
      try {
        consume(connection.createChannel(), queue, spec);
      } finally {
        connection.abort(CLOSE_MILLIS); // like close, but ignores a lost connection
      }
    } catch (IOException e) {
      throw explained(e);
    } finally {
      closed.countDown();
    }
  }

  /** The reason of a rejected operation is only in the cause. */
  private static IOException explained(IOException e) {
    Throwable cause = e.getCause();
    return e.getMessage() == null && cause != null ? new IOException(cause.getMessage(), e) : e;
  }

  private void consume(Channel channel, String queue, @Nullable QueueSpec spec)
      throws IOException, TimeoutException, InterruptedException {
    if (spec != null) {
      spec.declare(channel);
    }
    channel.basicQos(sink.prefetch());
    channel.addShutdownListener(this::lost);
    String consumer =
        channel.basicConsume(
            queue,
            false,
            (tag, message) -> arrived(message),
            tag -> end("the queue was deleted", null));
    sink.connected();
    while (steps.take().run(channel, consumer)) {
      // each step does the work
    }
    channel.close(); // after the acknowledgements, so that the broker reads them first
  }

  private void lost(ShutdownSignalException why) {
    end("the connection to RabbitMQ was lost", why);
  }

  private void end(String message, @Nullable Throwable why) {
    steps.add(
        (channel, consumer) -> {
          throw new IOException(message, why);
        });
  }

  private void arrived(Delivery message) {
    long tag = message.getEnvelope().getDeliveryTag();
    TaskMessage read = read(message);
    if (read instanceof TaskMessage.Valid valid) {
      openAttempts.accept(
          sink,
          valid.task(),
          message.getEnvelope().isRedeliver(),
          how -> steps.add((channel, consumer) -> settle(channel, tag, valid.task(), how)));
    } else if (read instanceof TaskMessage.Expired) {
      read.report(onSkipped, message);
      steps.add((channel, consumer) -> acknowledge(channel, tag));
    } else {
      read.report(onSkipped, message);
      steps.add((channel, consumer) -> reject(channel, tag, false));
    }
  }

  private TaskMessage read(Delivery message) {
    Map<String, String> headers = new HashMap<>();
    Map<String, Object> all = message.getProperties().getHeaders();
    if (all != null) {
      all.forEach((name, value) -> headers.put(name, String.valueOf(value)));
    }
    return TaskMessage.read(headers, message.getBody(), sink.types(), Instant.now());
  }

  private static boolean settle(Channel channel, long tag, ClaimedTask task, Ending how)
      throws IOException {
    if (how == Ending.FAILED) {
      return reject(channel, tag, false);
    }
    // With a token, the server publishes it again.
    boolean isUnknownToServer = how == Ending.RELEASED && task.token() == null;
    return isUnknownToServer ? reject(channel, tag, true) : acknowledge(channel, tag);
  }

  private static boolean acknowledge(Channel channel, long tag) throws IOException {
    channel.basicAck(tag, false);
    return true;
  }

  private static boolean reject(Channel channel, long tag, boolean again) throws IOException {
    channel.basicReject(tag, again);
    return true;
  }

  /** Cancels the consumer. Unsettled messages return to the queue when the connection closes. */
  void stop() {
    steps.add(
        (channel, consumer) -> {
          if (!isCancelled) {
            isCancelled = true;
            channel.basicCancel(consumer);
          }
          return true;
        });
  }

  /** Called by another thread: waits until pending steps are done and the connection is closed. */
  void close(Duration timeout) {
    steps.add((channel, consumer) -> false);
    try {
      closed.await(timeout.toMillis(), TimeUnit.MILLISECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
