package carillon.api.http;

import carillon.store.db.Page;
import carillon.store.tasks.AttemptResult;
import carillon.store.tasks.TaskStory;
import carillon.store.tasks.TaskView;
import java.util.ArrayList;
import java.util.List;
import java.util.function.ToLongFunction;
import org.jspecify.annotations.Nullable;

/**
 * Reads pages whose items may be large: in steps, up to a number of bytes. A page that ends early
 * has a next one, like any other.
 */
public final class LargePages {

  private static final long MAX_BYTES = 2 << 20;

  /** Items per step of a list without payloads; they still have an output and an error. */
  private static final int STEP = 100;

  private static final int FULL_STEP = 8;

  /** An item is in memory as it was read, as text and as bytes. */
  private static final int COPIES = 3;

  private static final int BYTES_PER_ITEM = 1 << 10;

  private LargePages() {}

  /** Reads some items, starting at a position. */
  public interface Step<T, C> {
    Page<T, C> read(int limit, @Nullable C from);
  }

  /**
   * Reads a page.
   *
   * @param full whether items have payloads
   * @param bytes of the texts of an item
   */
  public static <T, C> Page<T, C> read(
      Call call,
      int limit,
      boolean full,
      @Nullable C start,
      Step<T, C> step,
      ToLongFunction<T> bytes) {
    List<T> items = new ArrayList<>();
    C from = start;
    long sum = 0;
    int wanted;
    int found;
    do {
      wanted = Math.min(full ? FULL_STEP : STEP, limit - items.size());
      Page<T, C> page = step.read(wanted, from);
      long more = 0;
      for (T item : page.items()) {
        more += BYTES_PER_ITEM + bytes.applyAsLong(item);
      }
      call.share().reserveMemory(Math.toIntExact(COPIES * more));
      sum += more;
      items.addAll(page.items());
      from = page.next();
      found = page.items().size();
      // A short step has scanned as many rows as a page may scan.
    } while (from != null && found == wanted && items.size() < limit && sum < MAX_BYTES);
    return new Page<>(items, from);
  }

  public static long bytes(TaskView task) {
    return length(task.spec().payload()) + bytes(task.last()) + length(task.progress());
  }

  public static long bytes(TaskStory.Attempt attempt) {
    return bytes(attempt.result());
  }

  private static long bytes(AttemptResult result) {
    return length(result.output()) + length(result.error()) + length(result.request());
  }

  private static long length(@Nullable String text) {
    return text == null ? 0 : text.length();
  }
}
