package carillon.client;

import java.lang.reflect.Method;
import java.util.concurrent.Executor;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/** Creates threads: virtual ones if the JDK has them. */
final class Threads {

  private static final @Nullable Method OF_VIRTUAL = ofVirtual();

  private Threads() {}

  private static @Nullable Method ofVirtual() {
    try {
      return Runtime.version().feature() < 21 ? null : Thread.class.getMethod("ofVirtual");
    } catch (NoSuchMethodException e) {
      return null;
    }
  }

  /** Daemon threads. */
  static ThreadFactory daemons(String prefix) {
    AtomicInteger number = new AtomicInteger();
    return action -> {
      Thread thread = new Thread(action, prefix + number.incrementAndGet());
      thread.setDaemon(true);
      return thread;
    };
  }

  /** Runs handlers, each on a virtual thread, or in a pool of this size before Java 21. */
  static Executor forHandlers(String prefix, int max) {
    ThreadFactory virtual = virtual(prefix);
    if (virtual != null) {
      return action -> virtual.newThread(action).start();
    }
    var threads =
        new ThreadPoolExecutor(
            max, max, 5, TimeUnit.SECONDS, new LinkedBlockingQueue<>(), daemons(prefix));
    threads.allowCoreThreadTimeOut(true);
    return threads;
  }

  /** Runs each action immediately on its own thread. */
  static Executor unbounded(String prefix) {
    ThreadFactory virtual = virtual(prefix);
    ThreadFactory threads = virtual == null ? daemons(prefix) : virtual;
    return action -> threads.newThread(action).start();
  }

  private static @Nullable ThreadFactory virtual(String prefix) {
    Method ofVirtual = OF_VIRTUAL;
    if (ofVirtual == null) {
      return null;
    }
    try {
      // Thread.ofVirtual().name(prefix, 1).factory(), which Java 17 cannot compile.
      Class<?> builder = Class.forName("java.lang.Thread$Builder");
      Object named =
          builder
              .getMethod("name", String.class, long.class)
              .invoke(ofVirtual.invoke(null), prefix, 1L);
      return (ThreadFactory) builder.getMethod("factory").invoke(named);
    } catch (ReflectiveOperationException e) {
      return null;
    }
  }
}
